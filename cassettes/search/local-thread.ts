/** A thread that holds a local model: a text takes a core for a while, and whoever is recorded must not wait for that. */
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { type ModelFolder, openLocalModel } from './local-model.ts';

export type EmbedRequest = { text: string };
export type EmbedResponse = { ready: true } | { absent: string } | { vector: Float32Array } | { failed: string };

/** On Linux a priority is a thread's own, and of those that it starts: capturing goes before embedding. One that cannot be had is done without. */
try {
  if (process.platform === 'linux') setPriority(Math.min(getPriority() + 5, constants.priority.PRIORITY_LOW));
} catch {}

const say = (said: EmbedResponse, moved: ArrayBuffer[] = []) => parentPort?.postMessage(said, moved);

const loaded = openLocalModel(workerData as ModelFolder);
loaded.then(
  () => say({ ready: true }),
  (error: unknown) => say({ absent: (error instanceof Error ? error.message : String(error)).slice(0, 300) }),
);
parentPort?.on('message', async ({ text }: EmbedRequest) => {
  try {
    const vector = await (await loaded)(text);
    say({ vector }, [vector.buffer as ArrayBuffer]);
  } catch (error) {
    say({ failed: error instanceof Error ? error.name : 'Error' });
  }
});
