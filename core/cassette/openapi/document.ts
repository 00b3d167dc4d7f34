/** Reads a cassette's OpenAPI document without blocking the service: what is large is checked in a worker thread. */
import { createHash } from 'node:crypto';
import { startWorker } from '../../start-worker.ts';
import { Rejection } from '../running.ts';
import type { CheckedDocument } from './checked-document.ts';
import type { DocumentResult } from './document-worker.ts';
import type { Installing } from './tool-declarations.ts';

export type CassetteDocument = CheckedDocument & {
  /** `sha256:<hex>` of the document's bytes as they came. */
  openapi_digest: string;
};

export const MOST_DOCUMENT_BYTES = 1024 * 1024;
const INLINE_BYTES = 8_192; // checked within a few tens of milliseconds, whatever it contains
const THREAD_MS = 30_000;

/**
 * Checks the document as it came from the cassette, in a worker thread, since its author may mean harm; in this thread where it is short,
 * or where its author's code runs in the service anyway.
 * @throws {Rejection} manifest, openapi or tools
 */
export async function readDocument(text: string, installing: Installing): Promise<CassetteDocument> {
  const bytes = Buffer.from(text);
  if (bytes.length > MOST_DOCUMENT_BYTES)
    throw new Rejection(
      'openapi',
      `Cannot serve its OpenAPI document: it has ${bytes.length} bytes, and at most ${MOST_DOCUMENT_BYTES} are read`,
    );
  const openapi_digest = openapiDigest(bytes);
  if (bytes.length > INLINE_BYTES && installing.isolation !== 'inline')
    return { ...(await checkedElsewhere(text, installing)), openapi_digest };
  const { checkedDocument } = await import('./checked-document.ts'); // loads libraries that a start has no use for
  return { ...(await checkedDocument(text, installing)), openapi_digest };
}

/** Identifies a document by its bytes, before it is parsed. */
export const openapiDigest = (text: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

async function checkedElsewhere(text: string, installing: Installing): Promise<CheckedDocument> {
  const thread = startWorker('cassette/openapi/document-worker', { text, installing });
  let timeout: NodeJS.Timeout | undefined;
  try {
    const result = await new Promise<DocumentResult>((resolve, reject) => {
      const failed = (why: string) =>
        reject(new Rejection('openapi', `Cannot serve its OpenAPI document: reading it ${why}`));
      thread
        .once('message', resolve)
        .once('error', () => failed('failed'))
        .once('exit', () => failed('failed'));
      timeout = setTimeout(() => failed(`took more than ${THREAD_MS / 1000} s`), THREAD_MS);
    });
    if ('document' in result) return result.document;
    throw new Rejection(result.step, result.message, result.problems);
  } finally {
    clearTimeout(timeout);
    await thread.terminate();
  }
}
