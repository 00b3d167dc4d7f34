/** The brokers as the publisher sees them: one connection, which works or has failed, and then is opened anew. */
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../start-worker.ts';
import type { BrokerMessage, BrokerSettings, FromBroker, ToBroker } from './broker-messages.ts';

/** One call at a time. */
export type Broker = {
  /** Connects, or makes sure that the connection is still there. @throws {BrokerError} */
  ready(): Promise<void>;
  /** Sends messages in their order, once. @throws {BrokerError} some or all may have been stored even so */
  send(messages: BrokerMessage[]): Promise<void>;
  close(): Promise<void>;
};

/** Why nothing can be published: what the client library says, or what became of its thread. */
export class BrokerError extends Error {
  override readonly name = 'BrokerError';
}

const CONNECT_MS = 5_000; // to load the library
const EACH_MS = 10_000; // for each broker to be tried
const RESPONSE_MS = 12_000; // the thread itself gives up sooner
const CLOSE_MS = 1_000;
const FRESH_MS = 2_000; // a connection that has worked just now is not looked at again
const HEAP_MB = 64;

export function openBroker(settings: BrokerSettings): Broker {
  let thread: Worker | null = null;
  let settle: ((message: FromBroker) => void) | null = null;
  let workedAt = 0;

  const end = () => {
    const ending = thread;
    thread = null;
    ending?.removeAllListeners().on('error', () => {});
    void ending?.terminate();
  };

  /** The next report of the thread. Where that is a failure, or does not come in time, the thread is ended. */
  const reported = (deadlineMs: number) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => settle?.({ kind: 'failed', reason: 'no response in time' }), deadlineMs);
      settle = (message) => {
        settle = null;
        clearTimeout(timer);
        if (message.kind === 'failed') {
          end();
          return reject(new BrokerError(message.reason));
        }
        workedAt = performance.now();
        resolve();
      };
    });

  const connect = (): Promise<void> => {
    const started = startWorker('publish/broker-worker', settings, [], { maxOldGenerationSizeMb: HEAP_MB });
    const lost = (reason: string) => {
      if (settle) settle({ kind: 'failed', reason });
      else end();
    };
    started.on('message', (message: FromBroker) => settle?.(message));
    started.on('error', (error) => lost(error.message));
    started.on('exit', () => lost('the connection has ended'));
    thread = started;
    return reported(CONNECT_MS + EACH_MS * settings.brokers.length);
  };

  const requested = (running: Worker, message: ToBroker): Promise<void> => {
    const response = reported(RESPONSE_MS);
    running.postMessage(message);
    return response;
  };

  return {
    ready: async () => {
      if (!thread) return connect();
      if (performance.now() - workedAt > FRESH_MS) await requested(thread, { kind: 'probe' });
    },
    send: async (messages) => {
      if (!thread) throw new BrokerError('the connection has ended');
      await requested(thread, { kind: 'send', messages });
    },
    close: async () => {
      settle?.({ kind: 'failed', reason: 'closed' });
      const ending = thread;
      thread = null;
      if (!ending) return;
      const exited = new Promise<void>((done) => ending.removeAllListeners().once('exit', () => done()));
      ending.on('error', () => {}).postMessage({ kind: 'stop' } satisfies ToBroker);
      const timer = setTimeout(() => void ending.terminate(), CLOSE_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}
