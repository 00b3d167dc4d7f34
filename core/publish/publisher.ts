/**
 * Publishes nodes that were stored for the first time, after the commit that stored them: each is tried once, those of a conversation in their
 * order. The database stays the record, so nothing waits for a broker: a bounded queue holds what is new, without its content, and loses its
 * oldest nodes while no broker can be reached.
 */
import type { Reader } from '../call/reader.ts';
import type { Database } from '../db/database.ts';
import type { NewNode } from '../db/store/new-nodes.ts';
import { DatabaseError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { PublisherState } from '../model/publisher-state.ts';
import { openBackoff } from '../retry.ts';
import { type Broker, BrokerError } from './broker.ts';
import type { BrokerMessage } from './broker-messages.ts';
import { conversationRoots } from './conversation-roots.ts';
import { nodeContents } from './node-contents.ts';
import { eventText, MAX_EVENT_BYTES, nodeEvent } from './node-event.ts';

export type Publisher = {
  /** Queues nodes, in the order of their commits, and returns at once. */
  publish(nodes: readonly NewNode[]): void;
  state(): PublisherState;
  /** Sends what is queued, for at most that long, and not to brokers that are away. */
  close(graceMs: number): Promise<void>;
};

type Deps = {
  database: Pick<Database, 'execute'>;
  reader: Reader;
  broker: Broker;
  log: Pick<Logger, 'warn' | 'info'>;
  metrics: Pick<Metrics, 'published' | 'publisher'>;
  /** Called when the state has changed. */
  changed?: ((state: PublisherState) => void) | undefined;
  /** Awaited after work that took so long. */
  pause?: ((workedMs: number) => Promise<void>) | undefined;
  maxQueued?: number;
};

const MAX_QUEUED = 10_000; // nodes, of about a kilobyte each
const BATCH = 16; // nodes whose content is in memory at once
const RECONNECT = { firstMs: 500, maxMs: 30_000 };
const LOG_EVERY_MS = 60_000; // an outage is logged, but not each time that brokers come and go
const LOOK_EVERY_MS = 30_000; // whether the brokers are there, while there is nothing to publish
const REPORT_EVERY_MS = 500;

/** null: its turn was purged meanwhile. */
type QueuedEvent = { node: NewNode; message: BrokerMessage | null };

export function openPublisher({ maxQueued = MAX_QUEUED, ...deps }: Deps): Publisher {
  const { database, reader, broker, log, metrics, changed, pause } = deps;
  const roots = conversationRoots(database);
  const backoff = openBackoff(RECONNECT);
  const state: PublisherState = { queued: 0, published: 0, failed: 0, dropped: 0, reason: null };
  let queue: NewNode[] = [];
  let closing = false;
  let abandoned = false;
  let wake = () => {};
  let isLogged = false;
  let mayLogAt = 0;
  let reportTimer: NodeJS.Timeout | null = null;

  const report = () => {
    reportTimer ??= setTimeout(reportNow, REPORT_EVERY_MS).unref();
  };
  const reportNow = () => {
    if (reportTimer) clearTimeout(reportTimer);
    reportTimer = null;
    state.queued = queue.length;
    metrics.publisher({ queued: queue.length, isUp: state.reason === null });
    changed?.({ ...state });
  };
  const count = (result: 'published' | 'failed' | 'dropped', nodes: number) => {
    if (nodes === 0) return;
    state[result] += nodes;
    metrics.published(result, nodes);
    report();
  };

  const down = (reason: string) => {
    state.reason = reason;
    if (!isLogged && Date.now() >= mayLogAt) {
      isLogged = true;
      mayLogAt = Date.now() + LOG_EVERY_MS;
      log.warn({ reason }, 'Cannot publish nodes: no broker takes them; the newest wait in a queue, and are counted');
    }
    reportNow();
  };
  const logFault = (error: unknown) => {
    if (Date.now() < mayLogAt) return;
    mayLogAt = Date.now() + LOG_EVERY_MS;
    const reason = error instanceof Error ? error.name : 'unknown';
    const at = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // stack frames, no message
    log.warn({ reason, at }, 'Cannot make the events of some nodes: they are not published');
  };
  const up = () => {
    backoff.reset();
    const wasDown = state.reason !== null;
    state.reason = null;
    if (isLogged) log.info('nodes are published again');
    isLogged = false;
    if (wasDown) reportNow();
  };

  const wait = (ms: number | null) =>
    new Promise<void>((done) => {
      const timer = ms === null ? null : setTimeout(() => wake(), ms);
      wake = () => {
        if (timer) clearTimeout(timer);
        done();
      };
    });

  const eventsOf = async (nodes: readonly NewNode[]): Promise<QueuedEvent[]> => {
    const contents = await nodeContents(database, reader, nodes);
    const keys = await roots(nodes);
    return nodes.map((node, index) => {
      const content = contents[index];
      const key = keys[index] ?? node.node_hash;
      if (!content) return { node, message: null };
      const timestamp = String(Date.parse(node.created_at));
      return { node, message: { key, value: eventText(nodeEvent(node, key, content)), timestamp } };
    });
  };

  /** Nodes whose event cannot be made now come back into the queue; where it cannot be made at all, they are given up. */
  const nextEvents = async (): Promise<QueuedEvent[]> => {
    const nodes = queue.splice(0, BATCH);
    try {
      return await eventsOf(nodes);
    } catch (error) {
      if (error instanceof DatabaseError && error.transient) queue.unshift(...nodes);
      else {
        count('failed', nodes.length);
        logFault(error);
      }
      throw error;
    }
  };

  const sendBatch = async () => {
    const events = await nextEvents();
    const messages = events.flatMap(({ node, message }) => (message ? [{ node, message }] : []));
    count('dropped', events.length - messages.length); // purged
    for (let at = 0; at < messages.length; ) {
      const group = firstThatFit(messages.slice(at));
      try {
        await broker.send(group.map(({ message }) => message));
        count('published', group.length);
        at += group.length;
      } catch (error) {
        count('failed', group.length);
        queue.unshift(...messages.slice(at + group.length).map(({ node }) => node));
        throw error;
      }
    }
  };

  /** Whatever fails here, the engine goes on. */
  const step = async (): Promise<void> => {
    const from = performance.now();
    try {
      await broker.ready();
      if (queue.length > 0) await sendBatch();
      up();
      if (queue.length > 0) await pause?.(performance.now() - from);
    } catch (error) {
      if (error instanceof BrokerError) down(error.message);
      if (!closing) await wait(backoff.next());
    }
  };

  const run = async () => {
    while (!abandoned) {
      if (closing && (queue.length === 0 || state.reason !== null)) return;
      await step();
      if (queue.length === 0 && !closing && state.reason === null) await wait(LOOK_EVERY_MS);
    }
  };

  for (const result of ['published', 'failed', 'dropped'] as const) metrics.published(result, 0);
  reportNow();
  const stopped = run();
  return {
    publish: (nodes) => {
      if (nodes.length === 0) return;
      queue.push(...nodes);
      if (queue.length > maxQueued) {
        const excess = queue.length - maxQueued;
        queue = queue.slice(excess);
        count('dropped', excess);
      }
      report();
      if (state.reason === null) wake();
    },
    state: () => ({ ...state, queued: queue.length }),
    close: async (graceMs) => {
      closing = true;
      wake();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((done) => {
        timer = setTimeout(done, graceMs);
      });
      await Promise.race([stopped, late]);
      clearTimeout(timer);
      abandoned = true;
      count('dropped', queue.length);
      queue = [];
      reportNow();
      await broker.close();
    },
  };
}

/** The first messages that brokers take at once; one at least. */
function firstThatFit<Item extends { message: BrokerMessage }>(items: readonly Item[]): Item[] {
  let bytes = 0;
  const past = items.findIndex(({ message }, index) => {
    bytes += Buffer.byteLength(message.value);
    return index > 0 && bytes > MAX_EVENT_BYTES;
  });
  return items.slice(0, past === -1 ? items.length : past);
}
