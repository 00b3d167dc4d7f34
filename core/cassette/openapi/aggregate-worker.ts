/** Worker thread: joins the documents of cassettes with that of the read API, and posts the joined document and what was left out. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Document } from '../../http/contract.ts';
import { aggregate, type Part } from './aggregate.ts';

/** What the thread posts: the document as text, and the parts that are not in it, with the reason. */
export type JoinedMessage = { text: string; leftOut: { name: string; reason: string }[] };

const { core, parts } = workerData as { core: Document; parts: readonly Part[] };

const leftOut: JoinedMessage['leftOut'] = [];
const document = aggregate(core, parts, (name, error) => {
  leftOut.push({ name, reason: error instanceof Error ? error.message : 'it threw no error' });
});
parentPort?.postMessage({ text: JSON.stringify(document), leftOut } satisfies JoinedMessage);
