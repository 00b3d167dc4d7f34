/** Real brokers that speak Kafka's protocol, and what a topic of theirs holds. Both are kcat's: librdkafka has a cluster for tests in it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { within } from './within.ts';

const run = promisify(execFile);

export type Consumed = { partition: number; key: string; timestamp: number; value: string };

/** The brokers that tests share; null, with a printed skip, where there are none. */
export function sharedBrokers(name: string): string[] | null {
  const brokers = process.env.SVC_TEST_KAFKA ?? '';
  if (brokers === '') console.log(`skip: ${name}: SVC_TEST_KAFKA is not set`);
  return brokers === '' ? null : brokers.split(',');
}

/** A topic of the test's own; it is made when something is sent to it. */
export const newTopic = () => `svc-test-${randomUUID()}`;

/** All that a topic holds, each partition from its beginning. */
export async function consumed(brokers: readonly string[], topic: string): Promise<Consumed[]> {
  const format = '%p\t%k\t%T\t%s\n';
  const args = ['-b', brokers.join(','), '-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-f', format];
  const { stdout } = await run('kcat', args, { maxBuffer: 1 << 28, timeout: 60_000 });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [partition = '', key = '', timestamp = '', ...value] = line.split('\t');
      return { partition: Number(partition), key, timestamp: Number(timestamp), value: value.join('\t') };
    });
}

export type OwnBroker = {
  brokers: string[];
  /** It keeps its connections and takes new ones, and responds to nothing. */
  hang(): void;
  resume(): void;
  stop(): void;
};

/** A broker of the test's own, to be disturbed. */
export async function startBroker(): Promise<OwnBroker> {
  const args = ['-b', '127.0.0.1:1', '-X', 'test.mock.num.brokers=1', '-d', 'mock', '-C', '-t', 'hold', '-o', 'end'];
  const child: ChildProcess = spawn('kcat', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const address = new Promise<string>((found) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk).slice(-10_000);
      const [, servers] = /bootstrap\.servers=([0-9.:]+)/.exec(log) ?? [];
      if (servers) found(servers);
    });
  });
  const brokers = [await within(20_000, 'the address of the broker', address)];
  return {
    brokers,
    hang: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: () => void child.kill('SIGKILL'),
  };
}

/** Takes connections, and never responds. */
export async function startSilentServer(): Promise<{ address: string; close(): void }> {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).unref();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no port');
  return { address: `127.0.0.1:${bound.port}`, close: () => void server.close() };
}
