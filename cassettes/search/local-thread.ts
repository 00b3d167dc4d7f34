/** The thread that holds the local models: a text occupies a core for a while, and capturing must not wait for that. */
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { type LocalModel, type ModelFolder, openLocalModel } from './local-model.ts';

/** `text`: null forgets the model. */
export type EmbedRequest = { source: ModelFolder; text: string | null };
export type EmbedResponse = { folder: string } & ({ absent: string } | { vector: Float32Array } | { failed: string });

/** Capturing goes before embedding. On Linux a priority holds for one thread and those that it starts. A failure to set it is ignored. */
try {
  if (process.platform === 'linux') setPriority(Math.min(getPriority() + 5, constants.priority.PRIORITY_LOW));
} catch {}

const post = (response: EmbedResponse, transfer: ArrayBuffer[] = []) => parentPort?.postMessage(response, transfer);

const models = new Map<string, Promise<LocalModel>>(); // by folder

function loaded(source: ModelFolder): Promise<LocalModel> {
  const model = models.get(source.folder) ?? openLocalModel(source);
  models.set(source.folder, model);
  return model;
}

/** What a model holds outside of V8's heap is freed by a collection only, and a thread that is idle makes none. */
function forget({ folder }: ModelFolder): void {
  if (!models.delete(folder)) return;
  setImmediate(() => globalThis.gc?.()); // there where the process was started with it
}

parentPort?.on('message', async ({ source, text }: EmbedRequest) => {
  const { folder } = source;
  if (text === null) return forget(source);
  const model = await loaded(source).catch((error: unknown) => {
    models.delete(folder);
    post({ folder, absent: (error instanceof Error ? error.message : String(error)).slice(0, 300) });
  });
  if (!model) return;
  try {
    const vector = await model(text);
    post({ folder, vector }, [vector.buffer as ArrayBuffer]);
  } catch (error) {
    post({ folder, failed: error instanceof Error ? error.name : 'Error' });
  }
});
