/** A thread that holds a local model: a text occupies a core for a while, and capturing must not wait for that. */
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { type ModelFolder, openLocalModel } from './local-model.ts';

export type EmbedRequest = { text: string };
export type EmbedResponse = { ready: true } | { absent: string } | { vector: Float32Array } | { failed: string };

/** Capturing goes before embedding. On Linux a priority holds for one thread and those that it starts. A failure to set it is ignored. */
try {
  if (process.platform === 'linux') setPriority(Math.min(getPriority() + 5, constants.priority.PRIORITY_LOW));
} catch {}

const post = (response: EmbedResponse, transfer: ArrayBuffer[] = []) => parentPort?.postMessage(response, transfer);

const loaded = openLocalModel(workerData as ModelFolder);
loaded.then(
  () => post({ ready: true }),
  (error: unknown) => post({ absent: (error instanceof Error ? error.message : String(error)).slice(0, 300) }),
);
parentPort?.on('message', async ({ text }: EmbedRequest) => {
  try {
    const vector = await (await loaded)(text);
    post({ vector }, [vector.buffer as ArrayBuffer]);
  } catch (error) {
    post({ failed: error instanceof Error ? error.name : 'Error' });
  }
});
