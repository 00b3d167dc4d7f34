/** The hash chain of raw turns, which shows edits: each turn has a hash over all that is stored of it and over the turn before in its session. */
import { createHash } from 'node:crypto';
import type { Identity } from '../model/identity.ts';
import { canonicalJson } from './canonical-json.ts';

/**
 * All of a raw turn that never changes. Left out: `raw_turn_id` and `received_at`, which the database assigns, and the columns that
 * locate the bytes (recipe and slice ids), since the digests stand for the bytes themselves. Digests are lower-case hex SHA-256:
 * of bodies as they came over the wire, of headers over the JSON text of the list [[name, value], …]. Strings must be as the
 * database returns them: without NUL and lone surrogates. Instants are UTC with microseconds.
 */
export type TurnFacts = {
  session_id: string;
  session_seq: number;
  source: 'wire' | 'transcript';
  svc_proxy_request_id: string | null;
  request_id: string | null;
  outcome: string;
  ending: string;
  provider: string;
  format: string;
  method: string;
  url: string;
  status: number | null;
  harness_id: string;
  harness_session_id: string;
  thread_id: string;
  parent_harness_session_id: string | null;
  identity: Identity;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  request_headers_digest: string | null;
  response_headers_digest: string | null;
  request_bytes: number;
  request_digest: string;
  response_bytes: number;
  response_digest: string | null;
  meta: unknown;
};

/** SHA-256, lower-case hex, over the RFC 8785 JSON of {version: 1, prev, …facts}. @param prev hash of the turn before; null for the first */
export const turnHash = (prev: string | null, facts: TurnFacts): string =>
  createHash('sha256')
    .update(canonicalJson({ version: 1, prev, ...facts }))
    .digest('hex');

/** The digest of a list of headers for `TurnFacts`; null when there was none. */
export const headersDigest = (headers: readonly (readonly [string, string])[] | null): string | null =>
  headers && createHash('sha256').update(JSON.stringify(headers)).digest('hex');
