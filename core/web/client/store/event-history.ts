/** The events that a tab got lately, so that each counts once and another tab can go on from any of them. */
import type { Event } from '../../../model/event.ts';

const REMEMBERED = 500;

export type EventHistory = {
  lastId(): string | null;
  /** @returns false: it had come already */
  add(event: Event): boolean;
  /** What came after the event of this id; null: not known any more. */
  after(id: string): Event[] | null;
  clear(): void;
};

export function eventHistory(): EventHistory {
  let last: string | null = null;
  let events: Event[] = [];
  return {
    lastId: () => last,
    add(event) {
      const isKnown = events.some(({ id, event: kind }) => id === event.id && kind === event.event);
      if (event.event !== 'ping' && event.event !== 'reset' && isKnown) return false;
      if (event.event === 'reset') events = []; // ids from before lead nowhere
      events = [...events.slice(1 - REMEMBERED), event];
      last = event.id;
      return true;
    },
    after(id) {
      const at = events.findLastIndex((event) => event.id === id);
      return at === -1 ? null : events.slice(at + 1).filter(({ event }) => event !== 'ping');
    },
    clear() {
      last = null;
      events = [];
    },
  };
}
