/** The thread behind asking-thread.ts: it executes the operations that it is sent over its own connection, and passes notifications on. */
import { parentPort, workerData } from 'node:worker_threads';
import { connectDatabase, type DatabaseConnection } from '../../core/db/client/connection.ts';

const database = await connectDatabase((workerData as { connection: DatabaseConnection }).connection);
const execute = database.execute as unknown as (name: string, args: unknown) => Promise<unknown>;
await database.listen('news', (payload) => parentPort?.postMessage({ heard: payload }));
parentPort?.on('message', async ({ number, name, args }: { number: number; name: string; args: unknown }) => {
  if (name === 'close') {
    await database.close();
    parentPort?.postMessage({ number });
    parentPort?.close();
    return;
  }
  try {
    parentPort?.postMessage({ number, answer: await execute(name, args) });
  } catch (error) {
    const { message, transient } = error as { message: string; transient: boolean };
    parentPort?.postMessage({ number, error: { message, transient } });
  }
});
parentPort?.postMessage({ number: 0, answer: 'ready' });
