/** Turns as a gateway posts them to the ingest API: made of the calls that other tests put into the journal. */
import { v7 } from 'uuid';
import { builtIn, type Reader } from '../../core/call/reader.ts';
import type { JournalCall } from '../../core/capture/journal-format.ts';
import type { Database } from '../../core/db/database.ts';
import { type IngestWriter, openIngest } from '../../core/engine/ingest/ingest-writer.ts';
import { headerOf } from '../../core/model/headers.ts';

/** The body of a POST. Request bytes are inserted unchanged, so a request that is no JSON makes an invalid body. */
export function ingestBody({ opened, request, responseHead, response, closed }: JournalCall): Uint8Array<ArrayBuffer> {
  const { headers, provider, method, url, requested_at } = opened;
  const header = (name: string) => headerOf(headers, name);
  const answer = responseHead && {
    raw_response: Buffer.from(response).toString('base64'),
    raw_response_encoding: headerOf(responseHead.headers, 'content-encoding'),
  };
  const meta = {
    request_id: opened.svc_proxy_request_id,
    thread_id: header('x-claude-code-agent-id'),
    method,
    path: url,
    content_type: responseHead && headerOf(responseHead.headers, 'content-type'),
    upstream_status: responseHead?.status,
    ts_request: requested_at,
    captured_at: closed?.last_byte_at,
  };
  const session = {
    harness_id: header('x-svc-harness-id'),
    harness_session_id: header('x-svc-harness-session-id'),
    name: header('x-svc-session-name'),
  };
  return bodyOf({ provider, ...answer, meta, session }, Buffer.from(request).toString());
}

/** A body with an unchanged request, white space included. */
export const bodyOf = (rest: object, request: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"request":${request}}`));

/** Processes ingested turns as the engine does, without its thread. */
export async function testIngest(database: Database, reader: Reader = builtIn): Promise<IngestWriter> {
  const { identity_key } = await database.execute('installation', {});
  return openIngest({
    database,
    reader,
    identityKey: Buffer.from(identity_key, 'hex'),
    newId: v7,
    metrics: { intakeTurn: () => {}, notCaptured: () => {} },
  });
}
