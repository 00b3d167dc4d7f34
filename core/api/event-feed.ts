/** Who tells the readers of events? One feed for all of a process: it asks only while somebody listens, and for who can take more. */
import type { Database } from '../db/database.ts';
import { DatabaseError } from '../errors.ts';
import { traceOf } from '../http/failure.ts';
import type { Logger } from '../log.ts';
import { type Event, eventText, RETRY } from '../model/event.ts';
import { shownSession } from '../model/session.ts';
import { type EventPlace, eventId } from './event-id.ts';

type Deps = {
  execute: Database['execute'];
  /** Milliseconds since 1970. */
  now: () => number;
  log: Logger;
  /** Ends all streams. */
  stopping?: AbortSignal | undefined;
  /** How often the database is asked, how long silence lasts at most, and how many readers there may be. */
  limits?: { pollMs: number; pingMs: number; readers: number };
};

export type EventFeed = {
  isFull(): boolean;
  /** The events after a place, once somebody reads; `greeting` is told first. */
  stream(from: EventPlace, greeting: 'ping' | 'reset'): ReadableStream<Uint8Array>;
};

type Reader = {
  at: EventPlace;
  controller: ReadableStreamDefaultController<Uint8Array>;
  /** It has taken everything it was given. What it was not given is not kept for it but asked for then. */
  hungry: boolean;
  /** There may be more than it was told. */
  behind: boolean;
  spokenAt: number;
};

const LIMITS = { pollMs: 250, pingMs: 15_000, readers: 100 };
const PAGE = 50;
const CHUNK_CHARS = 64 * 1024;

export function eventFeed({ execute, now, log, stopping, limits = LIMITS }: Deps): EventFeed {
  const readers = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;
  let asking = false;
  let away = false;

  const join = (reader: Reader) => {
    readers.add(reader);
    timer ??= setInterval(tick, limits.pollMs);
  };
  const leave = (reader: Reader) => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const end = (reader: Reader) => {
    leave(reader);
    reader.controller.close();
  };
  const say = (reader: Reader, text: string) => {
    reader.hungry = false;
    reader.spokenAt = performance.now();
    reader.controller.enqueue(Buffer.from(text));
  };
  const nothingNew = (event: 'ping' | 'reset', at: EventPlace) => eventText({ event, id: eventId(at), data: {} });

  const tick = () => {
    for (const reader of readers) {
      reader.behind = true;
      if (reader.hungry && performance.now() - reader.spokenAt >= limits.pingMs)
        say(reader, nothingNew('ping', reader.at));
    }
    void tell();
  };
  /** One at a time: whoever becomes due meanwhile is found before it ends. */
  const tell = async () => {
    if (asking) return;
    asking = true;
    try {
      for (let due = dueAlike(); due.length > 0; due = dueAlike()) for (const alike of due) await tellAlike(alike);
      if (away) log.info({}, 'the events go on');
      away = false;
    } catch (thrown) {
      unanswered(thrown);
    } finally {
      asking = false;
    }
  };
  /** Those who wait for the same are told by one question. */
  const dueAlike = (): Reader[][] => {
    const alike = new Map<string, Reader[]>();
    for (const reader of readers) {
      if (!reader.behind || !reader.hungry) continue;
      const id = eventId(reader.at);
      alike.set(id, [...(alike.get(id) ?? []), reader]);
    }
    return [...alike.values()];
  };
  const tellAlike = async (alike: readonly Reader[]) => {
    const [first] = alike;
    if (!first) return;
    const { life, place } = first.at;
    const page = await execute('sessionChanges', { place, limit: PAGE });
    let text = '';
    let at: EventPlace = { life, place: page.place };
    let cut = false;
    for (const change of page.changes) {
      cut = text.length >= CHUNK_CHARS;
      if (cut) break;
      at = { life, place: change.place };
      const { session, session_id } = change;
      const id = eventId(at);
      const event: Event = session
        ? { event: 'session', id, data: { session: shownSession(session, now()) } }
        : { event: 'session_deleted', id, data: { session_id } };
      text += eventText(event);
    }
    for (const reader of alike) {
      if (!readers.has(reader) || !reader.hungry) continue; // it left, or was pinged, meanwhile
      reader.at = at;
      reader.behind = cut || page.more;
      if (text !== '') say(reader, text);
    }
  };
  /** A database that is away comes back; anything else is for the log, and for the reader to connect again. */
  const unanswered = (thrown: unknown) => {
    if (thrown instanceof DatabaseError && thrown.transient) {
      if (!away) log.warn(traceOf(thrown), 'the events wait for the database');
      away = true;
      return;
    }
    if (!stopping?.aborted) log.error(traceOf(thrown), 'Cannot tell events: the streams end');
    for (const reader of [...readers]) end(reader);
  };

  stopping?.addEventListener('abort', () => [...readers].forEach(end), { once: true });

  return {
    isFull: () => readers.size >= limits.readers,
    stream(from, greeting) {
      let reader: Reader | undefined;
      return new ReadableStream<Uint8Array>(
        {
          // nobody is a reader who never reads: an answer that was dropped must not keep a place
          pull(controller) {
            if (reader) {
              reader.hungry = true;
              void tell();
              return;
            }
            if (stopping?.aborted || readers.size >= limits.readers) return controller.close();
            reader = { at: from, controller, hungry: true, behind: true, spokenAt: 0 };
            join(reader);
            say(reader, RETRY + nothingNew(greeting, from));
          },
          cancel() {
            if (reader) leave(reader);
          },
        },
        { highWaterMark: 0 }, // asked for what it takes, and no further
      );
    },
  };
}
