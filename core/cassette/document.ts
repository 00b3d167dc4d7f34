/** Can a cassette's OpenAPI document be served as part of ours? Asked so that nothing else waits for the answer. */
import { createHash } from 'node:crypto';
import { startWorker } from '../start-worker.ts';
import type { CheckedDocument } from './checked-document.ts';
import type { DocumentResult } from './document-worker.ts';
import { Rejection } from './running.ts';
import type { Installing } from './tool-declarations.ts';

export type CassetteDocument = CheckedDocument & {
  /** `sha256:<hex>` of the document's bytes as they came. */
  openapi_digest: string;
};

export const MOST_DOCUMENT_BYTES = 1024 * 1024;
const SOON_BYTES = 8_192; // read within a few tens of milliseconds, whatever stands in it
const THREAD_MS = 30_000;

/**
 * The document as it came from the cassette, read in a thread of its own, since its author may mean harm: not where it is short, or
 * where its author's code runs in the service anyway.
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
  if (bytes.length > SOON_BYTES && installing.isolation !== 'inline')
    return { ...(await checkedElsewhere(text, installing)), openapi_digest };
  const { checkedDocument } = await import('./checked-document.ts'); // with readers that a start has no use for
  return { ...(await checkedDocument(text, installing)), openapi_digest };
}

/** What a document is told by, before it is looked at. */
export const openapiDigest = (text: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

async function checkedElsewhere(text: string, installing: Installing): Promise<CheckedDocument> {
  const thread = startWorker('cassette/document-worker', { text, installing });
  let late: NodeJS.Timeout | undefined;
  try {
    const said = await new Promise<DocumentResult>((resolve, reject) => {
      const failed = (why: string) =>
        reject(new Rejection('openapi', `Cannot serve its OpenAPI document: reading it ${why}`));
      thread
        .once('message', resolve)
        .once('error', () => failed('failed'))
        .once('exit', () => failed('failed'));
      late = setTimeout(() => failed(`took more than ${THREAD_MS / 1000} s`), THREAD_MS);
    });
    if ('document' in said) return said.document;
    throw new Rejection(said.step, said.message, said.problems);
  } finally {
    clearTimeout(late);
    await thread.terminate();
  }
}
