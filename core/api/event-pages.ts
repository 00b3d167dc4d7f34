/** The events after a position, as they are sent: sessions that have changed, and budgets that were crossed. */
import type { Database } from '../db/database.ts';
import { type Event, eventText } from '../model/event.ts';
import { shownSession } from '../model/session.ts';
import { type EventPosition, eventId } from './event-id.ts';

/** `text` of server-sent events, some 64 KiB at most; `at`: the position after them; `more`: there are others after that. */
export type EventPage = { text: string; at: EventPosition; more: boolean };

const CROSSINGS_MS = 1_000;
const PAGE = 50;
const CHUNK_CHARS = 64 * 1024;

/** @param now milliseconds since 1970 @returns a function that throws {DatabaseError} */
export function eventPages(
  execute: Database['execute'],
  now: () => number,
): (from: EventPosition) => Promise<EventPage> {
  let newest = { at: Number.NEGATIVE_INFINITY, id: 0 }; // of the crossings of budgets

  /** Crossings are few: whether there are new ones is queried once a second for all readers. */
  const crossingsAfter = async (after: number) => {
    if (performance.now() - newest.at >= CROSSINGS_MS)
      newest = { at: performance.now(), id: await execute('lastCrossing', {}) };
    return newest.id > after ? execute('crossingsAfter', { after, limit: PAGE }) : [];
  };

  return async ({ life, place, crossing }) => {
    const page = await execute('sessionChanges', { place, limit: PAGE });
    let text = '';
    let at: EventPosition = { life, place: page.place, crossing };
    for (const change of page.changes) {
      if (text.length >= CHUNK_CHARS) return { text, at, more: true };
      at = { life, place: change.place, crossing };
      const { session, session_id } = change;
      const id = eventId(at);
      const event: Event = session
        ? { event: 'session', id, data: { session: shownSession(session, now()) } }
        : { event: 'session_deleted', id, data: { session_id } };
      text += eventText(event);
    }
    if (page.more || crossing === null) return { text, at, more: page.more };
    for (const { crossing_id, ...data } of await crossingsAfter(crossing)) {
      at = { ...at, crossing: crossing_id };
      text += eventText({ event: 'budget_exceeded', id: eventId(at), data });
    }
    return { text, at, more: false };
  };
}
