/** The upload of a turn that a trusted client captured itself, and its result. */
import { z } from '@hono/zod-openapi';

/** Larger bodies are refused before they are read. 8 MiB of answer in base64, and 4 MiB of request: about 14.67 MiB. */
export const MAX_INGEST_BYTES = 15_379_114;

const text = z.string();

/** Senders may put anything here. A member that is read and is not as described counts as absent, except the id of the turn. */
const IngestMeta = z
  .looseObject({
    request_id: text.nullish().describe('a turn is stored once for each; absent or empty: one is generated'),
  })
  .describe(
    'stored verbatim, without credentials; nested 64 deep at most; read of it, where it is as expected: request_id, thread_id, method, path, content_type, content_encoding, upstream_status, ts_request, captured_at, elapsed_seconds',
  );

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

export const IngestTurn = z
  .object({
    provider: text.describe('anthropic, openai or ollama'),
    agent_name: text.nullish(),
    request: z
      .unknown()
      .nonoptional()
      .describe("the provider's request body, verbatim: its bytes are stored as they are here"),
    response: z
      .unknown()
      .optional()
      .describe('the answer, reduced by the sender: {model, message: {role, content[]}, stop_reason, usage, …}'),
    raw_response: z
      .base64()
      .nullish()
      .describe("the provider's bytes, still encoded; where given, the answer is read from them"),
    raw_response_encoding: text.nullish().describe('content coding of raw_response; absent: meta.content_encoding'),
    raw_response_withheld: z.boolean().nullish().describe('the sender had the bytes and chose not to send them'),
    meta: IngestMeta.nullish(),
    session: IngestSession.nullish(),
  })
  .openapi('IngestTurn', {
    description: 'With an answer, as its bytes or reduced',
    // in the contract only: a turn without an answer is stored all the same, and the response is 422
    anyOf: [
      { required: ['raw_response'], properties: { raw_response: { type: 'string', minLength: 1 } } },
      { required: ['response'], properties: { response: { not: { type: 'null' } } } },
    ],
    examples: [
      {
        provider: 'anthropic',
        request: { model: 'claude-sonnet-4-5', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }] },
        raw_response: [
          'eyJpZCI6Im1zZ18xIiwidHlwZSI6Im1lc3NhZ2UiLCJyb2xlIjoiYXNzaXN0YW50IiwibW9kZWwiOiJjbGF1ZGUtc2',
          '9ubmV0LTQtNSIsImNvbnRlbnQiOlt7InR5cGUiOiJ0ZXh0IiwidGV4dCI6IkhpIn1dLCJzdG9wX3JlYXNvbiI6ImVu',
          'ZF90dXJuIiwidXNhZ2UiOnsiaW5wdXRfdG9rZW5zIjo4LCJvdXRwdXRfdG9rZW5zIjo0fX0=',
        ].join(''),
        meta: {
          request_id: '7f3d0c9e',
          upstream_status: 200,
          content_type: 'application/json',
          ts_request: '2026-07-27T09:30:00Z',
        },
        session: { harness_id: 'claude', harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20' },
      },
    ],
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
