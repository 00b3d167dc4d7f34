/**
 * The feed of events: one for all readers of a process. It queries the database only for connected readers that can take more. No
 * library does this: those for server-sent events write to one connection, and the work is the query that all readers share.
 */
import type { Database } from '../db/database.ts';
import { DatabaseError } from '../errors.ts';
import { traceOf } from '../http/failure.ts';
import type { Logger } from '../log.ts';
import { eventText, RETRY } from '../model/event.ts';
import { type EventPosition, eventId } from './event-id.ts';
import { eventPages } from './event-pages.ts';

type Deps = {
  execute: Database['execute'];
  /** Milliseconds since 1970. */
  now: () => number;
  log: Logger;
  /** Ends all streams. */
  stopping?: AbortSignal | undefined;
  /** The interval of queries, the longest time without an event before a ping, and how many readers there may be. */
  limits?: { pollMs: number; pingMs: number; readers: number };
};

export type EventFeed = {
  isFull(): boolean;
  /** The events after a position; begins when somebody reads, with `firstEvent`. */
  stream(from: EventPosition, firstEvent: 'ping' | 'reset'): ReadableStream<Uint8Array>;
};

type Reader = {
  at: EventPosition;
  controller: ReadableStreamDefaultController<Uint8Array>;
  /** It has taken all that was sent. Further events are not buffered for it but queried when it is ready. */
  ready: boolean;
  /** There may be events that it was not sent. */
  behind: boolean;
  lastSentAt: number;
};

const LIMITS = { pollMs: 250, pingMs: 15_000, readers: 100 };

export function eventFeed({ execute, now, log, stopping, limits = LIMITS }: Deps): EventFeed {
  const readers = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;
  let isQuerying = false;
  let databaseAway = false;
  const eventsAfter = eventPages(execute, now);

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
  const send = (reader: Reader, text: string) => {
    reader.ready = false;
    reader.lastSentAt = performance.now();
    reader.controller.enqueue(Buffer.from(text));
  };
  const controlText = (event: 'ping' | 'reset', at: EventPosition) => eventText({ event, id: eventId(at), data: {} });

  const tick = () => {
    for (const reader of readers) {
      reader.behind = true;
      if (reader.ready && performance.now() - reader.lastSentAt >= limits.pingMs)
        send(reader, controlText('ping', reader.at));
    }
    void deliver();
  };
  /** One run at a time: a reader that becomes due meanwhile is served before it ends. */
  const deliver = async () => {
    if (isQuerying) return;
    isQuerying = true;
    try {
      for (let groups = dueGroups(); groups.length > 0; groups = dueGroups())
        for (const group of groups) await deliverTo(group);
      if (databaseAway) log.info({}, 'the database is back: the streams of events go on');
      databaseAway = false;
    } catch (thrown) {
      handleFailure(thrown);
    } finally {
      isQuerying = false;
    }
  };
  /** Readers at the same position share one query. */
  const dueGroups = (): Reader[][] => {
    const byId = new Map<string, Reader[]>();
    for (const reader of readers) {
      if (!reader.behind || !reader.ready) continue;
      const id = eventId(reader.at);
      byId.set(id, [...(byId.get(id) ?? []), reader]);
    }
    return [...byId.values()];
  };
  const deliverTo = async (group: readonly Reader[]) => {
    const [first] = group;
    if (!first) return;
    const page = await eventsAfter(first.at);
    for (const reader of group) {
      if (!readers.has(reader) || !reader.ready) continue; // it left or got a ping meanwhile
      reader.at = page.at;
      reader.behind = page.more;
      if (page.text !== '') send(reader, page.text);
    }
  };
  /** An unavailable database is waited for. Any other error is logged and ends the streams, so that readers connect again. */
  const handleFailure = (thrown: unknown) => {
    if (thrown instanceof DatabaseError && thrown.transient) {
      if (!databaseAway) log.warn(traceOf(thrown), 'the events wait for the database');
      databaseAway = true;
      return;
    }
    if (!stopping?.aborted) log.error(traceOf(thrown), 'Cannot read the changes: all streams of events end');
    for (const reader of [...readers]) end(reader);
  };

  stopping?.addEventListener('abort', () => [...readers].forEach(end), { once: true });

  return {
    isFull: () => readers.size >= limits.readers,
    stream(from, firstEvent) {
      let reader: Reader | undefined;
      return new ReadableStream<Uint8Array>(
        {
          // joins at the first read, so that a response that was dropped occupies no slot
          pull(controller) {
            if (reader) {
              reader.ready = true;
              void deliver();
              return;
            }
            if (stopping?.aborted || readers.size >= limits.readers) return controller.close();
            reader = { at: from, controller, ready: true, behind: true, lastSentAt: 0 };
            join(reader);
            send(reader, RETRY + controlText(firstEvent, from));
          },
          cancel() {
            if (reader) leave(reader);
          },
        },
        { highWaterMark: 0 }, // no buffer: pulled only when the reader reads
      );
    },
  };
}
