/** GET /v1/raw_turns/{raw_turn_id} and its two bodies: one captured call with its headers, and what passed as bytes or as text. */
import { isUtf8 } from 'node:buffer';
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import type { Database, OperationResult } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { byteResponse } from '../http/byte-response.ts';
import { Failure, guardedPayloads, guardedRead, type HttpEnv, json, routes } from '../http/routes.ts';
import { headersDigest } from '../merkle/turn-chain.ts';
import { contentCoding } from '../model/headers.ts';
import { RawTurnId } from '../model/page.ts';
import { RawTurnSides } from '../model/raw-turn.ts';

const NO_TURN = ['raw-turn-unknown', 'Cannot read the raw turn: there is none with this number'] as const;
const NO_ANSWER = ['raw-turn-unanswered', 'Cannot read the response: none came'] as const;

const params = z.object({ raw_turn_id: RawTurnId });

const readRawTurn = createRoute({
  method: 'get',
  path: '/v1/raw_turns/{raw_turn_id}',
  operationId: 'readRawTurn',
  tags: ['raw turns'],
  summary: 'One raw turn: its facts, and the headers of both sides; without bodies',
  request: { params },
  responses: {
    200: json(RawTurnSides, 'The raw turn'),
    404: json(Failure, 'No such raw turn', NO_TURN),
    ...guardedRead,
  },
});

const HEADERS = z.object({
  range: z.string().optional().describe('one range of bytes'),
  'if-range': z.string().optional().describe('the tag of the body that it is a range of'),
});

const text = (description: string) => ({ schema: { type: 'string' as const }, description });
const BODY_HEADERS = {
  'accept-ranges': text('`bytes`'),
  'content-disposition': text('For browsers: bytes are saved, not shown; absent of text'),
  'content-security-policy': text('For browsers: what is in it can neither run nor load anything'),
  etag: text('Of exactly these bytes'),
};
const bytesAndText = {
  'application/octet-stream': {
    schema: z.string().openapi({ format: 'binary' }),
    example: '{"model":"claude-sonnet-4-5"}',
  },
  'text/plain': { schema: z.string(), example: '{"model":"claude-sonnet-4-5"}' },
};

const bodyRoute = <Path extends string>(path: Path, operationId: string, summary: string) =>
  createRoute({
    method: 'get',
    path,
    operationId,
    tags: ['raw turns'],
    summary,
    request: {
      params,
      headers: HEADERS,
      query: z.object({
        as: z
          .enum(['wire', 'decoded'])
          .default('wire')
          .describe(
            'wire: the bytes as they passed, credentials replaced. decoded: without their content coding, and as text where they are UTF-8',
          ),
      }),
    },
    responses: {
      200: { description: 'The whole body', content: bytesAndText, headers: BODY_HEADERS },
      206: {
        description: 'The range of it',
        content: bytesAndText,
        headers: { ...BODY_HEADERS, 'content-range': text('Which bytes, and of how many') },
      },
      400: json(Failure, 'Unknown form', [
        'bad-request',
        'Cannot read the query: "as" Invalid option: expected one of "wire"|"decoded"',
      ]),
      404: json(Failure, 'No such raw turn, or it has no such body', NO_TURN),
      416: {
        ...json(Failure, 'The body ends before the range', [
          'range-unsatisfiable',
          'Cannot answer with that range: the body ends before it',
        ]),
        headers: { ...BODY_HEADERS, 'content-range': text('How many bytes there are') },
      },
      422: json(Failure, 'The body cannot be decoded', [
        'body-undecodable',
        "Cannot decode a body: it is not valid 'gzip'",
      ]),
      ...guardedPayloads,
    },
  });

const readRequest = bodyRoute(
  '/v1/raw_turns/{raw_turn_id}/request',
  'readRawRequest',
  "What a client sent: the body of a raw turn's request",
);
const readResponse = bodyRoute(
  '/v1/raw_turns/{raw_turn_id}/response',
  'readRawResponse',
  "What a provider answered: the body of a raw turn's response",
);

/** @throws {Undecodable} */
type Decode = (bytes: Uint8Array, contentEncoding: string) => Promise<Uint8Array>;

/** In the thread that calls it. */
export const decodeHere: Decode = async (bytes, contentEncoding) => decodeBodySync(bytes, contentEncoding).bytes;

type Deps = { execute: Database['execute']; decode: Decode };

/** @param decode runs in another thread, since it blocks its own */
export const rawTurnApp = ({ execute, decode }: Deps) => {
  const bodyOf = bodyReader({ execute, decode });
  return routes()
    .openapi(readRawTurn, async (c) => {
      const turn = await execute('readRawTurn', c.req.valid('param'));
      if (!turn) throw new Refusal(...NO_TURN);
      const { head, request, response } = turn;
      return c.json({ ...head, request: sideOf(request), ...(response && { response: sideOf(response) }) }, 200);
    })
    .openapi(readRequest, (c) => bodyOf(c, 'request', { ...c.req.valid('param'), ...c.req.valid('query') }))
    .openapi(readResponse, (c) => bodyOf(c, 'response', { ...c.req.valid('param'), ...c.req.valid('query') }));
};

type StoredTurn = NonNullable<OperationResult<'readRawTurn'>>;

function sideOf({ headers, digest }: StoredTurn['request']): RawTurnSides['request'] {
  const content_encoding = contentCoding(headers ?? []);
  const headers_digest = headersDigest(headers);
  return {
    headers: headers ?? [],
    ...(content_encoding === null ? {} : { content_encoding }),
    ...(headers_digest === null ? {} : { headers_digest }),
    ...(digest === null ? {} : { digest }),
  };
}

type Wanted = { raw_turn_id: number; as: 'wire' | 'decoded' };

const bodyReader =
  ({ execute, decode }: Deps) =>
  async (c: Context<HttpEnv>, side: 'request' | 'response', { raw_turn_id, as }: Wanted): Promise<never> => {
    const turn = await execute('rawTurnBody', { raw_turn_id, side });
    if (!turn) throw new Refusal(...NO_TURN);
    const { body } = turn;
    if (!body) throw new Refusal(...NO_ANSWER);
    const bytes = as === 'wire' ? body.bytes : await decoded(decode, body);
    const isText = as === 'decoded' && isUtf8(bytes);
    c.header('content-security-policy', "default-src 'none'; sandbox"); // what was recorded is hostile
    if (!isText) c.header('content-disposition', `attachment; filename="raw-turn-${raw_turn_id}-${side}.bin"`);
    return byteResponse(c, {
      bytes,
      type: isText ? 'text/plain; charset=utf-8' : 'application/octet-stream',
      etag: `"${body.digest ?? 'empty'}${as === 'wire' ? '' : '-decoded'}"`,
    }) as never; // the contract has both types
  };

/** @throws {Refusal} body-undecodable */
async function decoded(
  decode: Decode,
  { bytes, headers }: NonNullable<NonNullable<OperationResult<'rawTurnBody'>>['body']>,
) {
  const coding = contentCoding(headers ?? []);
  if (coding === null || bytes.byteLength === 0) return bytes;
  return decode(bytes, coding).catch((error: unknown) => {
    throw error instanceof Undecodable ? new Refusal('body-undecodable', error.message) : error;
  });
}
