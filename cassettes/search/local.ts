/** The embedder that stays on this machine: a model in a thread, or in this thread where threads are refused. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type EmbedQueue, openEmbedQueue } from './embed-queue.ts';
import { checkedVectors, type Embedder, EmbeddingFailed, NoEmbedder } from './embedder.ts';
import type { ModelFolder } from './local-model.ts';
import { embedInThread, failedOver, forgetInThread } from './model-thread.ts';

const BUILT = 'all-MiniLM-L6-v2';
const ABSENT_MS = 60_000; // between two attempts to load a model
const IDLE_MS = 10 * 60_000; // the model holds some hundred megabytes

type LocalOptions = { model: string; models: string; dimensions: number };

/** @throws {NoEmbedder} the folder that is named has no model */
export function localEmbedder({ model, models, dimensions }: LocalOptions): Embedder {
  const folder = folderOf({ model, models });
  const build = model === '' || model === BUILT;
  if (!build && !existsSync(join(folder, 'onnx/model.onnx')))
    throw new NoEmbedder('the folder of embedding.model holds no onnx/model.onnx, or may not be read from here');
  return {
    model: `local/${build ? BUILT : model}`,
    chunkLength: 1000, // about the 256 tokens that it was made for, and within the 512 that it takes
    batch: 16,
    async embed(texts, { urgent = false, signal } = {}) {
      const queue = queueOf({ folder, build });
      const vectors: number[][] = [];
      for (const text of texts) {
        if (signal?.aborted) throw new EmbeddingFailed('away', 'Cannot embed: it was called off');
        vectors.push([...(await queue.embed(text, urgent))]);
      }
      return checkedVectors('the local model', vectors, { texts: texts.length, dimensions });
    },
  };
}

/** The number of dimensions of a local model; null: the model cannot be read. */
export function localDimensions(options: Pick<LocalOptions, 'model' | 'models'>): number | null {
  if (options.model === '' || options.model === BUILT) return 384;
  try {
    const { hidden_size } = JSON.parse(readFileSync(join(folderOf(options), 'config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    return typeof hidden_size === 'number' ? hidden_size : null;
  } catch {
    return null;
  }
}

function folderOf({ model, models }: Pick<LocalOptions, 'model' | 'models'>): string {
  const own = resolve(model);
  return model.includes('/') && existsSync(own) ? own : resolve(models, model || BUILT);
}

/** The queues by the model's folder. */
const queues = new Map<string, EmbedQueue>();

function queueOf(source: ModelFolder): EmbedQueue {
  const queue = queues.get(source.folder) ?? (threadsAreRefused() ? startHere(source) : startThread(source));
  queues.set(source.folder, queue);
  return queue;
}

/** True in a cassette's own process, which then isolates the model as a thread would. */
const threadsAreRefused = (): boolean => process.permission !== undefined && !process.permission.has('worker');

function startHere(source: ModelFolder): EmbedQueue {
  const loaded = import('./local-model.ts')
    .then(({ openLocalModel }) => openLocalModel(source))
    .catch((error: Error) => {
      throw absent(source, new NoEmbedder(`the local model cannot be loaded: ${error.message}`));
    });
  loaded.catch(() => {}); // each text gets the error
  return openEmbedQueue({
    work: async (text) => {
      const vectorOf = await loaded;
      return vectorOf(text).catch((error: Error) => {
        throw failedOver(error.name);
      });
    },
  });
}

function startThread(source: ModelFolder): EmbedQueue {
  let idle: NodeJS.Timeout | undefined;
  const queue = openEmbedQueue({
    work: (text) =>
      embedInThread(source, text).catch((error: Error) => {
        if (error instanceof NoEmbedder) queue.end(absent(source, error));
        throw error;
      }),
    onBusy: () => clearTimeout(idle),
    onIdle() {
      idle = setTimeout(() => forgetInThread(source), IDLE_MS).unref();
    },
  });
  return queue;
}

/** For a while all texts get the same error: trying to load again for each would cost more. */
function absent({ folder }: ModelFolder, error: NoEmbedder): NoEmbedder {
  queues.set(folder, { embed: () => Promise.reject(error), end: () => {} });
  setTimeout(() => queues.delete(folder), ABSENT_MS).unref();
  return error;
}
