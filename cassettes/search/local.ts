/** How does a text become a vector without leaving this machine? By a model in a thread, or right here where threads are refused. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { checkedVectors, type Embedder, EmbeddingFailed, NoEmbedder } from './embedder.ts';
import { type Line, openLine } from './local-line.ts';
import type { ModelFolder } from './local-model.ts';
import type { EmbedRequest, EmbedResponse } from './local-thread.ts';
import { nativeLibrary } from './onnx-runtime.ts';

const BUILT = 'all-MiniLM-L6-v2';
const ABSENT_MS = 60_000; // between two looks
const IDLE_MS = 10 * 60_000; // the model holds some hundred megabytes

type Given = { model: string; models: string; dimensions: number };

/** @throws {NoEmbedder} the folder that is named has no model */
export function localEmbedder({ model, models, dimensions }: Given): Embedder {
  const folder = folderOf({ model, models });
  const build = model === '' || model === BUILT;
  if (!build && !existsSync(join(folder, 'onnx/model.onnx')))
    throw new NoEmbedder('the folder of embedding.model holds no onnx/model.onnx, or may not be read from here');
  return {
    model: `local/${build ? BUILT : model}`,
    chunkLength: 1000, // about the 256 tokens that it was made for
    batch: 16,
    async embed(texts, { urgent = false, signal } = {}) {
      const line = lineOf({ folder, build });
      const vectors: number[][] = [];
      for (const text of texts) {
        if (signal?.aborted) throw new EmbeddingFailed('away', 'Cannot embed: it was called off');
        vectors.push([...(await line.embed(text, urgent))]);
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

/** By the model's folder; one that ends is forgotten, and the next text starts another. */
const lines = new Map<string, Line>();

function lineOf(place: ModelFolder): Line {
  const line = lines.get(place.folder) ?? (threadsAreRefused() ? startHere(place) : startThread(place));
  lines.set(place.folder, line);
  return line;
}

/** As in a process of a cassette's own, which then is what a thread would be for. */
const threadsAreRefused = (): boolean => process.permission !== undefined && !process.permission.has('worker');

function startHere(place: ModelFolder): Line {
  const loaded = import('./local-model.ts')
    .then(({ openLocalModel }) => openLocalModel(place))
    .catch((error: Error) => {
      throw absent(place, error.message);
    });
  loaded.catch(() => {}); // each text hears of it
  return openLine({
    work: async (text) => {
      const vectorOf = await loaded;
      return vectorOf(text).catch((error: Error) => {
        throw failedOver(error.name);
      });
    },
  });
}

function startThread(place: ModelFolder): Line {
  nativeLibrary(); // it loads in one thread only, unless the main thread has loaded it first
  const worker = startWorker(place);
  worker.unref();
  let answered: { done(vector: Float32Array): void; failed(error: Error): void } | undefined;
  let idle: NodeJS.Timeout | undefined;
  const line = openLine({
    work: (text) =>
      new Promise((done, failed) => {
        answered = { done, failed };
        worker.postMessage({ text } satisfies EmbedRequest);
      }),
    working() {
      clearTimeout(idle);
      worker.ref(); // somebody waits
    },
    resting() {
      worker.unref();
      idle = setTimeout(() => end(away('the thread was at rest')), IDLE_MS).unref();
    },
  });
  const end = (error: Error) => {
    clearTimeout(idle);
    if (lines.get(place.folder) === line) lines.delete(place.folder);
    void worker.terminate();
    line.end(error);
  };
  worker.on('message', (said: EmbedResponse) => {
    if ('absent' in said) end(absent(place, said.absent));
    else if ('vector' in said) answered?.done(said.vector);
    else if ('failed' in said) answered?.failed(failedOver(said.failed));
  });
  worker.on('error', (error) => end(away(`the thread failed (${error.name})`)));
  worker.on('exit', () => end(away('the thread ended')));
  return line;
}

/** From source it goes through the bootstrap file, since a thread does not inherit what compiles TypeScript. */
function startWorker(place: ModelFolder): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(`./local-thread${fromSource ? '.ts' : '.js'}`, import.meta.url);
  const start = fromSource ? new URL('../../core/worker-bootstrap.mjs', import.meta.url) : entry;
  return new Worker(start, { name: 'search embedder', workerData: place, argv: [entry.href], execArgv: [] });
}

/** For a while all hear the same: looking again for each who asks would cost more. */
function absent({ folder }: ModelFolder, why: string): NoEmbedder {
  const error = new NoEmbedder(`the local model cannot be loaded: ${why}`);
  lines.set(folder, { embed: () => Promise.reject(error), end: () => {} });
  setTimeout(() => lines.delete(folder), ABSENT_MS).unref();
  return error;
}

const away = (why: string) => new EmbeddingFailed('away', `Cannot embed: ${why}`);
const failedOver = (name: string) => new EmbeddingFailed('text', `Cannot embed: the local model failed (${name})`);
