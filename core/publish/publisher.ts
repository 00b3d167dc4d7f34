/**
 * Publishes nodes that were stored for the first time, after the commit that stored them: each is tried once, those of a conversation in their
 * order. The database stays the record, so nothing waits for a broker: a bounded queue holds what is new, without its content, and loses its
 * oldest nodes while no broker can be reached.
 */
import type { Reader } from '../call/reader.ts';
import type { Database } from '../db/database.ts';
import type { NewNode } from '../db/store/new-nodes.ts';
import { DatabaseError } from '../errors.ts';
import type { PublisherState } from '../model/publisher-state.ts';
import { openBackoff } from '../retry.ts';
import { type Broker, BrokerError } from './broker.ts';
import type { BrokerMessage } from './broker-messages.ts';
import { MAX_EVENT_BYTES } from './node-event.ts';
import { openPublisherReport, type PublisherReport, type ReportDeps } from './publisher-report.ts';
import { openEventReader, type QueuedEvent, type ReadEvents } from './read-events.ts';

export type Publisher = {
  /** Queues nodes, in the order of their commits, and returns at once. */
  publish(nodes: readonly NewNode[]): void;
  state(): PublisherState;
  /** Sends what is queued, for at most that long, and not to brokers that are away. */
  close(graceMs: number): Promise<void>;
};

type Deps = ReportDeps & {
  database: Pick<Database, 'execute'>;
  reader: Reader;
  broker: Broker;
  /** Awaited after work that took so long. */
  pause?: ((workedMs: number) => Promise<void>) | undefined;
  maxQueued?: number;
};

const MAX_QUEUED = 10_000; // nodes, of about a kilobyte each
const BATCH = 16; // nodes whose content is in memory at once
const RECONNECT = { firstMs: 500, maxMs: 30_000 };
const CLOSING_RETRY_MS = 100; // after a failure of the database, at a stop
const LOOK_EVERY_MS = 30_000; // whether the brokers are there, while there is nothing to publish

export function openPublisher({ database, reader, broker, pause, maxQueued = MAX_QUEUED, ...deps }: Deps): Publisher {
  const queue: NewNode[] = [];
  const report = openPublisherReport(deps, () => queue.length);
  const sending: Sending = { queue, report, broker, readEvents: openEventReader(database, reader) };
  const backoff = openBackoff(RECONNECT);
  let closing = false;
  let abandoned = false;
  let wake = () => {};

  const wait = (ms: number) =>
    new Promise<void>((done) => {
      const timer = setTimeout(() => wake(), ms);
      wake = () => {
        clearTimeout(timer);
        done();
      };
    });

  /** Whatever fails here, the engine goes on. */
  const step = async (): Promise<void> => {
    const from = performance.now();
    try {
      await broker.ready();
      if (queue.length > 0) await sendBatch(sending);
      backoff.reset();
      report.up();
      if (queue.length > 0) await pause?.(performance.now() - from);
    } catch (error) {
      if (error instanceof BrokerError) report.down(error.message);
      if (!closing || !report.isDown()) await wait(closing ? CLOSING_RETRY_MS : backoff.next());
    }
  };

  const run = async () => {
    while (!abandoned) {
      if (closing && (queue.length === 0 || report.isDown())) return;
      await step();
      if (queue.length === 0 && !closing && !report.isDown()) await wait(LOOK_EVERY_MS);
    }
  };

  const stopped = run();
  return {
    publish: (nodes) => {
      if (nodes.length === 0) return;
      for (const node of nodes) queue.push(node); // one call may have some 100,000, more than arguments can be
      report.count('dropped', queue.splice(0, queue.length - maxQueued).length);
      report.soon();
      if (!report.isDown()) wake();
    },
    state: report.state,
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
      report.count('dropped', queue.splice(0).length);
      report.now();
      await broker.close();
    },
  };
}

type Sending = { queue: NewNode[]; report: PublisherReport; broker: Broker; readEvents: ReadEvents };

/** Sends the oldest nodes of the queue; those that were not tried come back into it. */
async function sendBatch(sending: Sending): Promise<void> {
  const { queue, report, broker } = sending;
  const events = await nextEvents(sending);
  const messages = events.flatMap(({ node, message }) => (message ? [{ node, message }] : []));
  report.count('dropped', events.length - messages.length); // purged
  for (let at = 0; at < messages.length; ) {
    const group = firstThatFit(messages.slice(at));
    try {
      await broker.send(group.map(({ message }) => message));
      report.count('published', group.length);
      at += group.length;
    } catch (error) {
      report.count('failed', group.length);
      queue.unshift(...messages.slice(at + group.length).map(({ node }) => node));
      throw error;
    }
  }
}

/** Nodes whose event cannot be made now come back into the queue; where it cannot be made at all, they are given up. */
async function nextEvents({ queue, report, readEvents }: Sending): Promise<QueuedEvent[]> {
  const nodes = queue.splice(0, BATCH);
  try {
    return await readEvents(nodes);
  } catch (error) {
    if (error instanceof DatabaseError && error.transient) queue.unshift(...nodes);
    else {
      report.count('failed', nodes.length);
      report.fault(error);
    }
    throw error;
  }
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
