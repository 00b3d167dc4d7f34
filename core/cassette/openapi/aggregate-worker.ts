/** Worker thread: joins the documents of cassettes with that of the read API, and posts the text of the joined document. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Document } from '../../http/contract.ts';
import { aggregate, type Part } from './aggregate.ts';

const { core, parts } = workerData as { core: Document; parts: readonly Part[] };

parentPort?.postMessage(JSON.stringify(aggregate(core, parts)));
