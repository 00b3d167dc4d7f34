/** The joined document as text, made in a worker thread: the authors of its parts may mean harm. */
import type { Document } from '../../http/contract.ts';
import { startWorker } from '../../start-worker.ts';
import type { Part } from './aggregate.ts';
import type { JoinedMessage } from './aggregate-worker.ts';

const THREAD_MS = 30_000;

/**
 * The contract of the read API with the documents of cassettes in it, as JSON.
 * @param onLeftOut called with the installed name of a part that could not be joined, and why: the others are served without it
 * @throws {Error} it could not be made in time
 */
export async function joinedDocument(
  core: Document,
  parts: readonly Part[],
  onLeftOut: (name: string, reason: string) => void = () => {},
): Promise<string> {
  if (parts.length === 0) return JSON.stringify(core);
  const thread = startWorker('cassette/openapi/aggregate-worker', { core, parts });
  let timeout: NodeJS.Timeout | undefined;
  try {
    const { text, leftOut } = await new Promise<JoinedMessage>((resolve, reject) => {
      const failed = (why: string) => reject(new Error(`Cannot join the documents of cassettes: the thread ${why}`));
      thread
        .once('message', resolve)
        .once('error', () => failed('failed'))
        .once('exit', () => failed('ended'));
      timeout = setTimeout(() => failed(`took more than ${THREAD_MS / 1000} s`), THREAD_MS);
    });
    for (const { name, reason } of leftOut) onLeftOut(name, reason);
    return text;
  } finally {
    clearTimeout(timeout);
    await thread.terminate();
  }
}
