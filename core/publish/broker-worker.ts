/**
 * The thread that holds the connection to the brokers. kafkajs is pure JavaScript without dependencies, installs nothing, runs on every Node
 * that we support, and sends 20,000 messages of 2 kB in half a second. Its last release is of 2023, and it has open bugs after a broker went
 * away: promises that nobody can catch, connections that are not made anew. So it has a thread of its own, which is ended after each
 * failure and started afresh: none of that reaches intake. (`@platformatic/kafka` 1.35 is kept, but does not agree with every broker on a
 * version of the protocol, and packages that it needs ask for Node 22.)
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Kafka, Partitioners, type Producer } from 'kafkajs';
import type { BrokerSettings, FromBroker, ToBroker } from './broker-messages.ts';

const CONNECT_MS = 2_000;
const REPLY_MS = 5_000;
const METADATA_MS = 10_000; // when it is older, it is asked for before anything is sent

/** kafkajs calls setTimeout with a negative time, of which Node 24 and later warn on stderr, where only log lines belong. */
const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
process.emitWarning = (...args: unknown[]) => {
  if (args[1] !== 'TimeoutNegativeWarning') emitWarning(...args);
};

const { brokers, topic, client_id } = workerData as BrokerSettings;
const port = parentPort;
if (!port) throw new Error('Cannot publish: this is a worker thread');
const report = (message: FromBroker) => port.postMessage(message);

/** Connects by the first broker that responds. @throws what the last of them did */
async function connected(): Promise<Producer> {
  let failure: unknown;
  for (const broker of brokers) {
    const kafka = new Kafka({
      clientId: client_id,
      brokers: [broker],
      connectionTimeout: CONNECT_MS,
      authenticationTimeout: CONNECT_MS,
      requestTimeout: REPLY_MS,
      retry: { initialRetryTime: 100, retries: 2 }, // of what asks for metadata: a new topic has no leader at once
      logCreator: () => () => {}, // the publisher logs, once
    });
    const producer = kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner, // the hash of the key that Java's clients use
      retry: { retries: 0 }, // each node is tried once
      metadataMaxAge: METADATA_MS,
    });
    try {
      await producer.connect();
      await probe(producer);
      return producer;
    } catch (error) {
      failure = error;
      void producer.disconnect().catch(() => {});
    }
  }
  throw failure;
}

/** Sends nothing, and fails where no broker responds, or the topic has no leaders. */
const probe = (producer: Producer) => producer.send({ topic, messages: [] });

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : 'unknown');

const opened = connected();
opened.then(
  () => report({ kind: 'done' }),
  (error) => report({ kind: 'failed', reason: reasonOf(error) }),
);

port.on('message', async (message: ToBroker) => {
  try {
    const producer = await opened;
    if (message.kind === 'stop') {
      await producer.disconnect();
      process.exit(0); // of this thread
    }
    if (message.kind === 'probe') await probe(producer);
    else await producer.send({ topic, messages: message.messages, acks: -1, timeout: REPLY_MS });
    report({ kind: 'done' });
  } catch (error) {
    report({ kind: 'failed', reason: reasonOf(error) });
  }
});
