/** A second thread beside a test's own, which queries the same database over a connection of its own. */
import type { Worker } from 'node:worker_threads';
import { transferables } from '../../core/db/client/connection.ts';
import type { OpenDatabase } from '../../core/db/open.ts';
import { startWorker } from '../../core/start-worker.ts';

type Answer = { number: number; answer?: unknown; error?: { message: string; transient: boolean }; heard?: string };

export type AskingThread = {
  /** Rejects with `{ message, transient }`. */
  ask(name: string, args: unknown): Promise<unknown>;
  heard: string[];
  worker: Worker;
  close(): Promise<void>;
};

export async function askingThread(database: OpenDatabase): Promise<AskingThread> {
  const connection = database.connection();
  const worker = startWorker('../test/support/asking-worker', { connection }, transferables(connection));
  const heard: string[] = [];
  const waiting = new Map<number, (answer: Answer) => void>();
  let count = 0;
  const answer = (number: number) => new Promise<Answer>((resolve) => waiting.set(number, resolve));
  const ready = answer(0);
  worker.on('message', (message: Answer) => {
    if (message.heard !== undefined) heard.push(message.heard);
    else waiting.get(message.number)?.(message);
  });
  const ask = async (name: string, args: unknown) => {
    count += 1;
    const answered = answer(count);
    worker.postMessage({ number: count, name, args });
    const { error, answer: value } = await answered;
    if (error) throw error;
    return value;
  };
  await ready;
  const close = async () => {
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    await ask('close', {});
    await ended;
  };
  return { ask, heard, worker, close };
}
