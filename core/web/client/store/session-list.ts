/** The list of sessions: read in pages, changed by events, and still there when a reader comes back to it. */
import { signal } from '@preact/signals';
import type { Event } from '../../../model/event.ts';
import type { Session } from '../../../model/session.ts';
import type { SESSIONS_START } from '../../first-reads.ts';
import { isAbort } from '../api/request.ts';
import { browseSessions } from '../api/sessions.ts';
import { NO_ROWS, type SessionRows, withEvent, withoutSession, withPage, withSession } from './list-changes.ts';

/** As the document has it, which loads the first page ahead: only types come from there. */
const START: typeof SESSIONS_START = { limit: '50' };
/** How far the list is read on for a session to come back to. */
const MOST_PAGES_BACK = 20;

type ListState = SessionRows & {
  /** The filters and the order that these rows have; null: nothing was read yet. */
  key: string | null;
  /** What was requested and has not come. */
  loading: 'list' | 'more' | null;
  error: unknown;
  /** What the error is of; null: there is none. */
  failed: 'list' | 'more' | null;
};

export const sessionList = signal<ListState>({ ...NO_ROWS, key: null, loading: null, error: null, failed: null });

const patch = (change: Partial<ListState>) => {
  sessionList.value = { ...sessionList.value, ...change };
};

let reading = new AbortController();
/** What came while the list was being read, which may or may not be in the answer. */
let meanwhile: Event[] = [];

async function read(key: string, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams(key);
  query.set('limit', START.limit);
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
    sessionList.value = { ...current, key, loading: null, error: null, failed: null };
    // what came may be older than that: not before, since the first rows are shown meanwhile
    if (meanwhile.some(({ event }) => event === 'reset') || isOvertaken(current)) void readList(key, place);
  } catch (error) {
    if (!isAbort(error)) patch({ loading: null, error, failed: 'list' });
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
    if (!isAbort(error)) patch({ loading: null, error, failed: 'more' });
  }
}

/** Nothing waits above a list without rows: what comes is its first row. */
const isOvertaken = ({ items, waiting }: SessionRows): boolean => items.length === 0 && waiting.size > 0;

/** @returns whether the list has to be read again to be right; one that is being read sees to that itself, with the filters that it is read for */
export function takeEvent(event: Event): boolean {
  const { key, waiting, loading } = sessionList.value;
  const isReading = loading === 'list';
  if (isReading) meanwhile.push(event);
  if (key === null) return false;
  if (event.event === 'reset') return !isReading;
  patch(withEvent(sessionList.value, event, new URLSearchParams(key)));
  return !isReading && isOvertaken(sessionList.value) && sessionList.value.waiting.size > waiting.size;
}

export const showEdited = (session: Session) => patch(withSession(sessionList.value, session));
export const showDeleted = (id: string) => patch(withoutSession(sessionList.value, id));
