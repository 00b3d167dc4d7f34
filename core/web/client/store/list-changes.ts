/** How the list of sessions changes: by its pages, by events, and by what a person does to a row. */
import type { Event } from '../../../model/event.ts';
import type { Session } from '../../../model/session.ts';
import { mayMatch } from '../pages/sessions/filters.ts';

export type SessionRows = {
  items: readonly Session[];
  /** Of the page after these; null: there is none. */
  cursor: string | null;
  /** Sessions that came since the list was read, by id; they wait above it, since rows must not move under a pointer. */
  waiting: ReadonlySet<string>;
};

export const NO_ROWS: SessionRows = { items: [], cursor: null, waiting: new Set() };

/** With one more page. A session that moved between two reads is in both: it stays where it was first. */
export function withPage(rows: SessionRows, items: readonly Session[], cursor: string | null): SessionRows {
  const seen = new Set(rows.items.map(({ id }) => id));
  return { ...rows, items: [...rows.items, ...items.filter(({ id }) => !seen.has(id))], cursor };
}

/** With a session as it is now, in its place. */
export const withSession = (rows: SessionRows, session: Session): SessionRows => ({
  ...rows,
  items: rows.items.map((row) => (row.id === session.id ? session : row)),
});

export function withoutSession(rows: SessionRows, id: string): SessionRows {
  const waiting = new Set(rows.waiting);
  waiting.delete(id);
  return { ...rows, items: rows.items.filter((row) => row.id !== id), waiting };
}

/**
 * With what an event brings. `reset` and `ping` change nothing here.
 * @param query the filters of the list
 */
export function withEvent(rows: SessionRows, event: Event, query: URLSearchParams): SessionRows {
  if (event.event === 'session_deleted') return withoutSession(rows, event.data.session_id);
  if (event.event !== 'session') return rows;
  const { session } = event.data;
  if (rows.items.some(({ id }) => id === session.id)) return withSession(rows, session);
  if (!mayMatch(session, query)) return rows;
  return { ...rows, waiting: new Set([...rows.waiting, session.id]) };
}
