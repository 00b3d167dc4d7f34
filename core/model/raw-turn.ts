/** A raw turn: one appended record of what passed, never edited; its bytes are read apart from its facts. */
import { z } from '@hono/zod-openapi';
import { Ending, Outcome } from './coverage.ts';
import { At, cursorExample, NextCursor } from './page.ts';

/** Both members are strings: said without `prefixItems`, which many readers of contracts do not know. */
const PAIR = { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 } as const;

const Headers = z
  .array(z.tuple([z.string(), z.string()]).openapi(PAIR))
  .describe('in the order of the wire, credentials replaced');

/** One side of an exchange, as it passed. */
const Side = z.object({
  headers: Headers,
  content_encoding: z.string().optional().describe('under which `body` still is'),
  encoding: z.enum(['utf-8', 'base64']).describe('utf-8: `body` is the text itself, and its UTF-8 are the exact bytes'),
  body: z.string(),
});

export const rawTurnExample = {
  raw_turn_id: 12,
  svc_proxy_request_id: '019fa57e-7000-7a51-8a1c-5f2a9f1f7b20',
  source: 'wire',
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  session_seq: 1,
  outcome: 'captured',
  ending: 'complete',
  provider: 'anthropic',
  format: 'anthropic.messages',
  method: 'POST',
  url: '/v1/messages?beta=true',
  status: 200,
  harness_id: 'claude',
  harness_session_id: '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20',
  requested_at: '2026-07-27T09:30:00.123456Z',
  first_byte_at: '2026-07-27T09:30:00.923456Z',
  last_byte_at: '2026-07-27T09:30:04.123456Z',
  received_at: '2026-07-27T09:30:04.200001Z',
  request_bytes: 140_321,
  response_bytes: 2_210,
  turn_hash: '3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
};

const facts = {
  raw_turn_id: z.int(),
  svc_proxy_request_id: z.string().optional().describe('absent for what did not pass the proxy'),
  request_id: z.string().optional().describe('given by the sender of an ingested turn'),
  source: z.enum(['wire', 'transcript']),
  session_id: z.uuid().describe('as the latest correction attributes it'),
  session_seq: z.int().describe('place in the chain of the session that took it in'),
  outcome: Outcome,
  ending: Ending,
  provider: z.string().optional(),
  format: z.string().optional(),
  method: z.string().optional(),
  url: z.string().optional().describe('path and query as sent, credentials replaced'),
  status: z.int().optional().describe('absent when no answer came'),
  harness_id: z.string(),
  harness_session_id: z.string(),
  thread_id: z.string().optional(),
  agent_name: z.string().optional(),
  requested_at: At,
  first_byte_at: At.optional(),
  last_byte_at: At.optional(),
  received_at: At.describe('when it was stored'),
  request_bytes: z.int().describe('as they came, on the wire'),
  response_bytes: z.int(),
  turn_hash: z.string(),
  prev_hash: z.string().optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
};

export const RawTurn = z
  .object({
    ...facts,
    payload: z
      .object({
        request: Side,
        response: Side.optional().describe('absent when no answer came'),
      })
      .optional()
      .describe('with include=payload: the exact bytes as they passed, still encoded where content_encoding is set'),
  })
  .openapi('RawTurn', { examples: [rawTurnExample] });
export type RawTurn = z.infer<typeof RawTurn>;

/** The facts without the bytes. */
export type RawTurnHead = Omit<RawTurn, 'payload'>;

export const RawTurnPage = z.object({ items: z.array(RawTurn), next_cursor: NextCursor }).openapi('RawTurnPage', {
  examples: [
    {
      items: [
        {
          ...rawTurnExample,
          payload: {
            request: {
              headers: [['content-type', 'application/json']],
              encoding: 'utf-8',
              body: '{"model":"claude-sonnet-4-5"}',
            },
          },
        },
      ],
      next_cursor: cursorExample,
    },
  ],
});

/** One side without its body. */
const SideHead = z.object({
  headers: Headers,
  content_encoding: z.string().optional().describe('under which the body is'),
  headers_digest: z
    .string()
    .optional()
    .describe('SHA-256 over the JSON text of `headers`, which `turn_hash` covers; absent when there were none'),
  digest: z
    .string()
    .optional()
    .describe('SHA-256 of the body as it passed, which `turn_hash` covers; absent when no byte of it came'),
});

export const RawTurnSides = z
  .object({
    ...facts,
    request: SideHead,
    response: SideHead.optional().describe('absent when no answer came'),
  })
  .openapi('RawTurnSides', {
    examples: [
      {
        ...rawTurnExample,
        request: {
          headers: [['content-type', 'application/json']],
          headers_digest: 'f2db3b6c2d4f0a9a3fcb4a4c39f7e4b1b9f4b0e8a9d5f1f3a1d8b6b7d1c2e3f4',
          digest: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        },
      },
    ],
  });
export type RawTurnSides = z.infer<typeof RawTurnSides>;
