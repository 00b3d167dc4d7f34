/** The entry of the parser thread: parses and checks cassettes' texts, one at a time. */
import { parentPort } from 'node:worker_threads';
import { collectWhenIdle } from '../../collect-when-idle.ts';
import { plainFailure } from '../../db/client/failure.ts';
import { DatabaseError } from '../../errors.ts';
import { yieldToListeners } from '../../yield-to-listeners.ts';
import { migrationText } from './migration-text.ts';
import { loadParser } from './parser.ts';
import type { ParserReply, ParserRequest } from './parser-thread.ts';
import { checkStatement } from './statement.ts';

yieldToListeners(5);
collectWhenIdle();
await loadParser();
parentPort?.on('message', async ({ kind, text, own }: ParserRequest) => {
  parentPort?.postMessage(
    await replyTo(() => (kind === 'statement' ? checkStatement(text, own) : migrationText(text, own))),
  );
});
parentPort?.postMessage('ready');

async function replyTo(work: () => Promise<unknown>): Promise<ParserReply> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error; // ends the thread
    return { failure: plainFailure(error) };
  }
}
