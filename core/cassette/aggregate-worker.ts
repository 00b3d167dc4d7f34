/** Joins the documents of cassettes with that of the read API in a thread of its own, and answers with the text of the whole. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Document } from '../http/contract.ts';
import { aggregate, type Part } from './aggregate.ts';

const { core, parts } = workerData as { core: Document; parts: readonly Part[] };

parentPort?.postMessage(JSON.stringify(aggregate(core, parts)));
