/** Is what was admitted still what it was? A remote source is asked for its document again; the others are what was started. */
import type { Admitted } from './admission.ts';
import { type CassetteDocument, openapiDigest, readDocument } from './document.ts';
import { documentText } from './document-text.ts';
import { refuseUngranted } from './grants.ts';
import type { ListEntry } from './list.ts';
import { Rejection } from './running.ts';

/** The document, when it is another one now; null when nothing changed. @throws {Rejection} the last good one stays in use */
export async function refreshed(entry: ListEntry, { running, document }: Admitted): Promise<CassetteDocument | null> {
  if (running.loaded) return null; // whether it is up, it says itself
  const { pathname, search } = new URL(entry.source);
  const text = await documentText(running, `${pathname}${search}`, { step: 'resolve' });
  if (openapiDigest(text) === document.openapi_digest) return null; // reading it is dear
  const read = await readDocument(text, { name: entry.name, isolation: 'remote' });
  if (entry.digest !== undefined)
    throw new Rejection('digest', 'Cannot take its new document: it is not what was pinned');
  if (read.manifest.cassette.name !== document.manifest.cassette.name)
    throw new Rejection('name', 'Cannot take its new document: the cassette in it has another name');
  refuseUngranted(read.manifest, entry.grants, ['forward_auth']);
  return read;
}
