/** How does a text become a vector without leaving this machine? In a thread that holds the model, one text after the other. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { checkedVectors, type Embedder, EmbeddingFailed, NoEmbedder } from './embedder.ts';

const BUILT = 'all-MiniLM-L6-v2';
const ABSENT_MS = 60_000; // between two looks
const IDLE_MS = 10 * 60_000; // the model holds some hundred megabytes

type Given = { model: string; models: string; dimensions: number };

/** @throws {NoEmbedder} the folder that is named has no model */
export function localEmbedder({ model, models, dimensions }: Given): Embedder {
  const folder = folderOf({ model, models });
  const build = model === '' || model === BUILT;
  if (!build && !existsSync(join(folder, 'onnx/model.onnx')))
    throw new NoEmbedder('the folder of embedding.model holds no onnx/model.onnx');
  return {
    model: `local/${build ? BUILT : model}`,
    chunkLength: 1000, // about the 256 tokens that it was made for
    batch: 16,
    async embed(texts, { urgent = false, signal } = {}) {
      const thread = threadOf(folder, build);
      const vectors: number[][] = [];
      for (const text of texts) {
        if (signal?.aborted) throw new EmbeddingFailed('away', 'Cannot embed: it was called off');
        vectors.push([...(await thread.embed(text, urgent))]);
      }
      return checkedVectors('the local model', vectors, { texts: texts.length, dimensions });
    },
  };
}

/** What a local model's vectors have; null: it is not there to be asked. */
export function localDimensions(given: Pick<Given, 'model' | 'models'>): number | null {
  if (given.model === '' || given.model === BUILT) return 384;
  try {
    const { hidden_size } = JSON.parse(readFileSync(join(folderOf(given), 'config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    return typeof hidden_size === 'number' ? hidden_size : null;
  } catch {
    return null;
  }
}

function folderOf({ model, models }: Pick<Given, 'model' | 'models'>): string {
  const own = resolve(model);
  return model.includes('/') && existsSync(own) ? own : resolve(models, model || BUILT);
}

type Thread = { embed(text: string, urgent: boolean): Promise<Float32Array> };
type Job = { text: string; done(vector: Float32Array): void; failed(error: Error): void };
type Said = { ready: true } | { absent: string } | { vector: Float32Array } | { failed: string };

/** By the model's folder; a thread that ends is forgotten, and the next text starts another. */
const threads = new Map<string, Thread>();

function threadOf(folder: string, build: boolean): Thread {
  const thread = threads.get(folder) ?? startThread(folder, build);
  threads.set(folder, thread);
  return thread;
}

function startThread(folder: string, build: boolean): Thread {
  loadLibrary();
  const worker = new Worker(threadFile(), { name: 'search embedder', workerData: { folder, build }, execArgv: [] });
  worker.unref();
  const waiting: Job[] = [];
  let current: Job | undefined;
  let idle: NodeJS.Timeout | undefined;

  const next = () => {
    if (current) return;
    current = waiting.shift();
    clearTimeout(idle);
    if (current) {
      worker.ref(); // somebody waits
      worker.postMessage({ text: current.text });
    } else {
      worker.unref();
      idle = setTimeout(
        () => end(new EmbeddingFailed('away', 'Cannot embed: the thread was at rest')),
        IDLE_MS,
      ).unref();
    }
  };
  const end = (error: Error) => {
    clearTimeout(idle);
    if (threads.get(folder) === thread) threads.delete(folder);
    void worker.terminate();
    for (const job of [...(current ? [current] : []), ...waiting.splice(0)]) job.failed(error);
    current = undefined;
  };
  worker.on('message', (said: Said) => {
    if ('ready' in said) return;
    if ('absent' in said) {
      const error = new NoEmbedder(`the local model cannot be loaded: ${said.absent}`);
      end(error);
      threads.set(folder, { embed: () => Promise.reject(error) }); // a thread for each who asks would cost more
      setTimeout(() => threads.delete(folder), ABSENT_MS).unref();
      return;
    }
    const job = current;
    current = undefined;
    if ('vector' in said) job?.done(said.vector);
    else job?.failed(new EmbeddingFailed('text', `Cannot embed: the local model failed (${said.failed})`));
    next();
  });
  worker.on('error', (error) => end(new EmbeddingFailed('away', `Cannot embed: the thread failed (${error.name})`)));
  worker.on('exit', () => end(new EmbeddingFailed('away', 'Cannot embed: the thread ended')));

  const thread: Thread = {
    embed: (text, urgent) =>
      new Promise((done, failed) => {
        const job = { text, done, failed };
        if (urgent) waiting.unshift(job);
        else waiting.push(job);
        next();
      }),
  };
  return thread;
}

/** Its binary part loads in one thread only, unless the main thread has loaded it first. */
function loadLibrary(): void {
  try {
    createRequire(import.meta.url)('onnxruntime-node');
  } catch (error) {
    throw new NoEmbedder('onnxruntime-node cannot be loaded on this machine', { cause: error });
  }
}

/** Plain JavaScript, which is not compiled and so stays where the sources are. */
function threadFile(): URL {
  const beside = new URL('./local-thread.mjs', import.meta.url);
  return existsSync(beside) ? beside : new URL('../../../cassettes/search/local-thread.mjs', import.meta.url);
}
