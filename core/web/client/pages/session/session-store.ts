/** What the page of a session has read: its facts, its outline and the texts of its spans. Every lens reads from here. */
import { type ReadonlySignal, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { SessionCache } from '../../../../model/cache-break.ts';
import type { Event } from '../../../../model/event.ts';
import type { FindLine } from '../../../../model/find.ts';
import type { Outline } from '../../../../model/outline.ts';
import type { Session } from '../../../../model/session.ts';
import type { Span } from '../../../../model/span.ts';
import type { OutlineRequest } from '../../api/outline.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { type SessionOutline, sessionOutline } from '../../store/outline.ts';
import { type SpanWindow, spanWindow } from '../../store/span-window.ts';
import { type SessionBreaks, sessionBreaks } from './cache/session-breaks.ts';
import { type SessionFind, type Sought, sessionFind } from './find/session-find.ts';

/** For the texts of the first screen; then the rest of the outline is read whether they have come or not. */
const REST_MS = 500;
const UNKNOWN: ReadonlySet<string> = new Set(['trace-unknown', 'span-unknown']);

export type SessionStore = {
  id: string;
  session: ReadonlySignal<Session | null>; // null: it has not come yet
  deleted: ReadonlySignal<boolean>; // it went while it was on screen
  failure: ReadonlySignal<unknown>; // why the session could not be read; null: it could
  outline: SessionOutline;
  texts: SpanWindow;
  find: SessionFind;
  breaks: SessionBreaks; // of the cache
  /** Shows a session that was edited, as the service answered. */
  put: (session: Session) => void;
  /** Reads everything again that changed. */
  refresh: () => void;
  close: () => void;
};

/** The reads and the stream that a store is made of. */
export type SessionReads = {
  session: (id: string, signal: AbortSignal) => Promise<Session>;
  outline: (id: string, page: OutlineRequest & { signal: AbortSignal }) => Promise<Outline>;
  window: (trace_id: string, from_seq: number, limit: number, signal: AbortSignal) => Promise<{ items: Span[] }>;
  whole: (trace_id: string, span_id: string) => Promise<Span>;
  find: (id: string, sought: Sought, onLines: (lines: FindLine[]) => void, signal: AbortSignal) => Promise<void>;
  cache: (id: string, signal: AbortSignal) => Promise<SessionCache>;
  onEvent: (listener: (event: Event) => void) => () => void;
};

/** Where the reader begins, unless the session is live: at a span, or at the session's beginning. */
export type FirstPlace = { span: string | null };

/** @param place null: what is looked at needs the whole session */
export function sessionStore(id: string, reads: SessionReads, place: FirstPlace | null): SessionStore {
  const session = signal<Session | null>(null);
  const deleted = signal(false);
  const failure = signal<unknown>(null);
  const controller = new AbortController();
  let first: Promise<void> | null = null;
  const readOutline = async (page: OutlineRequest & { signal: AbortSignal }): Promise<Outline> => {
    const [answer] = await Promise.all([reads.outline(id, page), first]); // the head grows with the session's facts: what is below it would move
    return answer;
  };
  const partAround = (span_id: string) => ({
    span_id,
    read: (signal: AbortSignal) => readOutline({ around: span_id, signal }),
  });
  const outline = sessionOutline(
    ({ after, fromStart, cursor }, signal) =>
      readOutline({ ...(after && { after }), fromStart, ...(cursor && { cursor }), signal }),
    place
      ? {
          around: place.span === null ? null : partAround(place.span),
          isShown: async () => session.peek()?.live === false,
          rest: () => Promise.race([texts.first, new Promise<void>((resolve) => setTimeout(resolve, REST_MS))]),
        }
      : undefined,
  );
  /** A trace that is unknown was derived anew: the outline has those that took its place. */
  const onTextFailure = (error: unknown): never => {
    if (error instanceof ProblemError && UNKNOWN.has(error.code)) outline.refresh();
    throw error;
  };
  const texts = spanWindow(
    (trace_id, { from_seq, limit }, signal) => reads.window(trace_id, from_seq, limit, signal).catch(onTextFailure),
    (trace_id, span_id) => reads.whole(trace_id, span_id).catch(onTextFailure),
  );
  const find = sessionFind((sought, onLines, signal) => reads.find(id, sought, onLines, signal));
  const breaks = sessionBreaks((signal) => reads.cache(id, signal));
  let heard = 0; // sessions that came otherwise than by a read
  const hear = (newer: Session) => {
    heard++;
    session.value = newer;
  };
  /** What came meanwhile may be newer than the answer, so it is read once more; what comes during that too is the newest. */
  const readSession = async (isLast = false): Promise<void> => {
    const before = heard;
    try {
      const answer = await reads.session(id, controller.signal);
      if (heard === before) session.value = answer;
      else if (!isLast) return await readSession(true);
      failure.value = null;
    } catch (error) {
      if (!controller.signal.aborted) failure.value = error;
    }
  };
  const refresh = () => {
    const reading = readSession();
    first ??= reading;
    outline.refresh();
    texts.retry();
  };
  const stop = reads.onEvent((event) => {
    if (event.event === 'reset') refresh();
    else if (event.event === 'session_deleted') deleted.value ||= event.data.session_id === id;
    else if (event.event === 'session' && event.data.session.id === id) {
      hear(event.data.session);
      failure.value = null;
      outline.refresh();
    }
  });
  refresh();
  return {
    ...{ id, session, deleted, failure, outline, texts, find, breaks, refresh },
    put: hear,
    close: () => {
      stop();
      controller.abort();
      outline.close();
      texts.close();
      find.close();
      breaks.close();
    },
  };
}

export const SessionContext = createContext<SessionStore | null>(null);

/** The store of the session on screen. */
export function useSession(): SessionStore {
  const store = useContext(SessionContext);
  if (!store) throw new Error('Cannot show a part of a session: it is not on the page of one');
  return store;
}
