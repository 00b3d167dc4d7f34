/** The engine's thread: runs at once, and again whenever it has died, each time after a longer wait, until it is stopped. */
import type { Worker } from 'node:worker_threads';
import type { Logger } from '../log.ts';
import { openBackoff } from '../retry.ts';
import type { FromEngine, ToEngine } from './messages.ts';

export type EngineThread = {
  /** @returns false when there is no thread at the moment */
  send(message: ToEngine, transfer?: readonly ArrayBuffer[]): boolean;
  stop(): Promise<void>;
};

type Deps = {
  start(): Worker;
  received(message: FromEngine): void;
  died(): void; // called each time, before it starts anew
  log: Logger;
};

const RESTART = { firstMs: 200, maxMs: 10_000 };
const STOP_MS = 10_000; // then the thread is ended

export function openEngineThread({ start, received, died, log }: Deps): EngineThread {
  const restarts = openBackoff(RESTART);
  let worker: Worker | null = null;
  let stopped = false;

  const run = () => {
    const started = start();
    worker = started;
    started.on('message', (message: FromEngine) => {
      if (message.kind === 'ready') restarts.reset();
      else received(message);
    });
    started.on('error', (error) => log.error({ reason: error.message, stack: error.stack }, 'the engine failed'));
    started.once('exit', ended);
  };
  const ended = (code: number) => {
    worker = null;
    died();
    if (stopped) return;
    const delayMs = restarts.next();
    log.error({ code, again_in_ms: delayMs }, 'the engine ended; it starts anew, and nothing in the journal is lost');
    setTimeout(() => {
      if (!stopped) run();
    }, delayMs);
  };
  const send = (message: ToEngine, transfer: readonly ArrayBuffer[] = []) => {
    worker?.postMessage(message, transfer);
    return worker !== null;
  };

  run();
  return {
    send,
    stop: async () => {
      stopped = true;
      const ending = worker;
      if (!ending) return;
      const exited = new Promise<void>((done) => ending.once('exit', () => done()));
      send({ kind: 'stop' });
      const killTimer = setTimeout(() => void ending.terminate(), STOP_MS);
      await exited;
      clearTimeout(killTimer);
    },
  };
}
