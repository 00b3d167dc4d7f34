/** The upload of a turn that a trusted client captured itself. */
import { z } from '@hono/zod-openapi';
import { IngestSession } from '../../model/ingest.ts';
import { PROVIDER_NAMES } from '../../provider/provider-ids.ts';

const text = z.string();

/** With its padding. For the contract: the schema checks by itself. */
const BASE64 = '^(?:[0-9A-Za-z+/]{4})*(?:[0-9A-Za-z+/]{2}==|[0-9A-Za-z+/]{3}=)?$';

/** Senders may put anything here. A member that is read and is not as described counts as absent, except the id of the turn. */
const IngestMeta = z
  .looseObject({
    request_id: text.nullish().describe('a turn is stored once for each; absent or empty: one is generated'),
  })
  .describe(
    'stored verbatim, without credentials; nested 64 deep at most; read of it, where it is as expected: request_id, thread_id, method, path, content_type, content_encoding, upstream_status, ts_request, captured_at, elapsed_seconds',
  );

export const IngestTurn = z
  .object({
    provider: text.describe(PROVIDER_NAMES),
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
      .openapi({ pattern: BASE64 })
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
