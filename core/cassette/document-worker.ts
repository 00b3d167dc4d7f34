/** Reads one large document in a thread of its own, and says what came of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { type CheckedDocument, checkedDocument } from './checked-document.ts';
import { type AdmissionStep, Rejection } from './running.ts';
import type { Installing } from './tool-declarations.ts';

/** That, or why not. */
export type DocumentResult =
  | { document: CheckedDocument }
  | { step: AdmissionStep; message: string; problems: readonly string[] };

const { text, installing } = workerData as { text: string; installing: Installing };

const said: DocumentResult = await checkedDocument(text, installing).then(
  (document) => ({ document }),
  (error: unknown) => {
    if (!(error instanceof Rejection)) throw error;
    const { step, message, problems } = error;
    return { step, message, problems };
  },
);
parentPort?.postMessage(said);
