/** Refreshes what was admitted: the document of a remote source is fetched again; other sources are what was started. */

import type { ListEntry } from '../list/list.ts';
import { type CassetteDocument, openapiDigest, readDocument } from '../openapi/document.ts';
import { documentText } from '../openapi/document-text.ts';
import { Rejection } from '../running.ts';
import type { Admitted } from './admission.ts';
import { refuseUngranted } from './grants.ts';

/** The new document; null when nothing changed. @throws {Rejection} the last good document stays in use */
export async function refreshed(entry: ListEntry, { running, document }: Admitted): Promise<CassetteDocument | null> {
  if (running.loaded) return null; // `liveness` shows whether it is up
  const { pathname, search } = new URL(entry.source);
  const text = await documentText(running, `${pathname}${search}`, { step: 'resolve' });
  if (openapiDigest(text) === document.openapi_digest) return null; // parsing it is expensive
  const read = await readDocument(text, { name: entry.name, isolation: 'remote' });
  if (entry.digest !== undefined)
    throw new Rejection('digest', 'Cannot take its new document: it is not what was pinned');
  if (read.manifest.cassette.name !== document.manifest.cassette.name)
    throw new Rejection('name', 'Cannot take its new document: the cassette in it has another name');
  refuseUngranted(read.manifest, entry.grants, ['forward_auth']);
  return read;
}
