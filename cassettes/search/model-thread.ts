/**
 * The thread of all local models of this process. It is started once and never terminated: the native runtime loads in one thread only, and where that
 * ends it has freed what others use, so that the process may crash.
 */
import { Worker } from 'node:worker_threads';
import { EmbeddingFailed, NoEmbedder } from './embedder.ts';
import type { ModelFolder } from './local-model.ts';
import type { EmbedRequest, EmbedResponse } from './local-thread.ts';

type Pending = { done(vector: Float32Array): void; failed(error: Error): void };

let running: Worker | undefined;
const pending = new Map<string, Pending>(); // by the model's folder

/** One text of a model at a time. @throws {NoEmbedder} the model cannot be loaded @throws {EmbeddingFailed} */
export function embedInThread(source: ModelFolder, text: string): Promise<Float32Array> {
  running ??= startThread();
  const worker = running;
  return new Promise((done, failed) => {
    pending.set(source.folder, { done, failed });
    worker.ref(); // a text waits
    worker.postMessage({ source, text } satisfies EmbedRequest);
  });
}

/** Gives the model's memory back. */
export const forgetInThread = (source: ModelFolder): void =>
  running?.postMessage({ source, text: null } satisfies EmbedRequest);

function startThread(): Worker {
  const worker = startWorker();
  worker.on('message', (response: EmbedResponse) => {
    const waiting = pending.get(response.folder);
    pending.delete(response.folder);
    if (pending.size === 0) worker.unref();
    if ('absent' in response) waiting?.failed(new NoEmbedder(`the local model cannot be loaded: ${response.absent}`));
    else if ('vector' in response) waiting?.done(response.vector);
    else waiting?.failed(failedOver(response.failed));
  });
  const end = (why: string) => {
    if (running !== worker) return;
    running = undefined; // the next one gets the runtime that is compiled to WebAssembly
    const waiting = [...pending.values()];
    pending.clear();
    for (const { failed } of waiting) failed(new EmbeddingFailed('away', `Cannot embed: ${why}`));
  };
  worker.on('error', (error) => end(`the thread failed (${error.name})`));
  worker.on('exit', () => end('the thread ended'));
  worker.unref();
  return worker;
}

/** From source the thread starts through the bootstrap file, since a thread does not inherit the TypeScript compiler. */
function startWorker(): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(`./local-thread${fromSource ? '.ts' : '.js'}`, import.meta.url);
  const start = fromSource ? new URL('../../core/worker-bootstrap.mjs', import.meta.url) : entry;
  return new Worker(start, { name: 'search embedder', argv: [entry.href], execArgv: [] });
}

export const failedOver = (name: string) =>
  new EmbeddingFailed('text', `Cannot embed: the local model failed (${name})`);
