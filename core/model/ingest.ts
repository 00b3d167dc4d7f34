/** What the ingest API shares: the limit of a body, the session that a sender may name, and what becomes of a turn. */
import { z } from '@hono/zod-openapi';

/** Larger bodies are refused before they are read. 8 MiB of answer in base64, and 4 MiB of request: about 14.67 MiB. */
export const MAX_INGEST_BYTES = 15_379_114;

const text = z.string();

/** Null means the same as an absent member: senders in some languages write it for what they do not know. */
export const IngestSession = z.object({
  harness_id: text.nullish().describe('absent or empty: as the request shows, else "unknown"'),
  harness_session_id: text.nullish().describe('absent or empty: as the request shows, else the conversation decides'),
  harness_version: text.nullish(),
  parent_harness_session_id: text.min(1).nullish().describe('left out rather than empty'),
  cwd: text.nullish(),
  name: text.nullish(),
  auth_subject: text.nullish().describe('a trusted gateway outranks it'),
  org_id: z
    .union([z.guid(), z.literal('')])
    .nullish()
    .describe('not stored: one installation serves one'),
  harness_metadata: z.record(text, z.unknown()).nullish().describe('nested 32 deep at most'),
});

/** Where an accepted turn is stored; `deduped`: it was stored before. */
export type AcceptedTurn = {
  raw_turn_id: number;
  session_id: string;
  request_id: string;
  deduped: boolean;
  provider: string;
};

/** `unusable`: well-formed and stored, but it cannot be read yet. `malformed`: not stored. `unavailable`: try again. */
export type IngestVerdict =
  | ({ kind: 'accepted' } & AcceptedTurn)
  | ({ kind: 'unusable'; error: string } & AcceptedTurn)
  | { kind: 'malformed'; error: string }
  | { kind: 'unavailable'; error: string };
