/** The list of sessions: read in pages, changed by events, and still there when a reader comes back to it. */
import { signal } from '@preact/signals';
import type { Event } from '../../../model/event.ts';
import type { Session } from '../../../model/session.ts';
import { isAbort } from '../api/request.ts';
import { browseSessions } from '../api/sessions.ts';
import { NO_ROWS, type SessionRows, withEvent, withoutSession, withPage, withSession } from './list-changes.ts';

const PAGE = 50;
/** How far the list is read on for a session to come back to. */
const MOST_PAGES_BACK = 20;

type ListState = SessionRows & {
  /** The filters and the order that these rows have; null: nothing was read yet. */
  key: string | null;
  /** What was requested and has not come. */
  loading: 'list' | 'more' | null;
  error: unknown;
};

export const sessionList = signal<ListState>({ ...NO_ROWS, key: null, loading: null, error: null });

const patch = (change: Partial<ListState>) => {
  sessionList.value = { ...sessionList.value, ...change };
};

let reading = new AbortController();
/** What came while the list was being read, which may or may not be in the answer. */
let meanwhile: Event[] = [];

async function read(key: string, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams(key);
  query.set('limit', String(PAGE));
  if (cursor !== null) query.set('cursor', cursor);
  const { items, next_cursor = null } = await browseSessions(query, signal);
  return { items, cursor: next_cursor };
}

/**
 * Reads the list from its beginning; the rows before stay until it is there.
 * @param key as `listQuery` writes it @param place the session to come back to: the list is read as far as it is found
 */
export async function readList(key: string, place: string | null = null): Promise<void> {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  meanwhile = [];
  patch({ loading: 'list', error: null });
  try {
    let rows = NO_ROWS;
    for (let page = 0; page < MOST_PAGES_BACK; page += 1) {
      const next = await read(key, rows.cursor, signal);
      rows = withPage(rows, next.items, next.cursor);
      if (place === null || rows.cursor === null || rows.items.some(({ id }) => id === place)) break;
    }
    const query = new URLSearchParams(key);
    const current = meanwhile.reduce((before, event) => withEvent(before, event, query), rows);
    sessionList.value = { ...current, key, loading: null, error: null };
  } catch (error) {
    if (!isAbort(error)) patch({ loading: null, error });
  }
}

export async function readMore(): Promise<void> {
  const { key, cursor, loading } = sessionList.value;
  if (key === null || cursor === null || loading !== null) return;
  const { signal } = reading;
  patch({ loading: 'more', error: null });
  try {
    const page = await read(key, cursor, signal);
    sessionList.value = {
      ...sessionList.value,
      ...withPage(sessionList.value, page.items, page.cursor),
      loading: null,
    };
  } catch (error) {
    if (!isAbort(error)) patch({ loading: null, error });
  }
}

/** @returns whether the list has to be read again to be right */
export function takeEvent(event: Event): boolean {
  const { key, items, waiting, loading } = sessionList.value;
  if (loading === 'list') meanwhile.push(event);
  if (key === null) return false;
  if (event.event === 'reset') return true;
  patch(withEvent(sessionList.value, event, new URLSearchParams(key)));
  return items.length === 0 && sessionList.value.waiting.size > waiting.size;
}

export const showEdited = (session: Session) => patch(withSession(sessionList.value, session));
export const showDeleted = (id: string) => patch(withoutSession(sessionList.value, id));
