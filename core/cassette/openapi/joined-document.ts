/** The joined document as text, made in a worker thread: the authors of its parts may mean harm. */
import type { Document } from '../../http/contract.ts';
import { startWorker } from '../../start-worker.ts';
import type { Part } from './aggregate.ts';

const THREAD_MS = 30_000;

/** @throws {Error} it could not be made in time */
export async function joinedDocument(core: Document, parts: readonly Part[]): Promise<string> {
  if (parts.length === 0) return JSON.stringify(core);
  const thread = startWorker('cassette/openapi/aggregate-worker', { core, parts });
  let timeout: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      const failed = (why: string) => reject(new Error(`Cannot join the documents of cassettes: the thread ${why}`));
      thread
        .once('message', resolve)
        .once('error', () => failed('failed'))
        .once('exit', () => failed('ended'));
      timeout = setTimeout(() => failed(`took more than ${THREAD_MS / 1000} s`), THREAD_MS);
    });
  } finally {
    clearTimeout(timeout);
    await thread.terminate();
  }
}
