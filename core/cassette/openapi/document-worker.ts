/** Worker thread: reads one large document, and posts the result or why it was rejected. */
import { parentPort, workerData } from 'node:worker_threads';
import { type AdmissionStep, Rejection } from '../running.ts';
import { type CheckedDocument, checkedDocument } from './checked-document.ts';
import type { Installing } from './tool-declarations.ts';

/** The checked document, or why it was rejected. */
export type DocumentResult =
  | { document: CheckedDocument }
  | { step: AdmissionStep; message: string; problems: readonly string[] };

const { text, installing } = workerData as { text: string; installing: Installing };

const result: DocumentResult = await checkedDocument(text, installing).then(
  (document) => ({ document }),
  (error: unknown) => {
    if (!(error instanceof Rejection)) throw error;
    const { step, message, problems } = error;
    return { step, message, problems };
  },
);
parentPort?.postMessage(result);
