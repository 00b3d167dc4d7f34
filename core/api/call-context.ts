/** GET /v1/raw_turns/{raw_turn_id}/context and …/blocks/{n}: what the model saw in a call, and what had changed since another. */
import { isUtf8 } from 'node:buffer';
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { type Against, promptBlocksOf, type Reads, readContext, spansOf } from '../engine/prompt/read-context.ts';
import { Refusal } from '../errors.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import { BlockContent, CallContext } from '../model/call-context.ts';
import { RawTurnId } from '../model/page.ts';
import { callContext } from './call-context-document.ts';

const NO_TURN = ['raw-turn-unknown', 'Cannot read the raw turn: there is none with this number'] as const;

const AgainstParameter = z
  .string()
  .regex(/^(?:previous|none|[1-9]\d{0,14})$/, 'must be previous, none, or the number of a raw turn')
  .default('previous')
  .describe(
    'the call to compare with: previous (the earlier call of its thread that shares the longest beginning with it), none, or a raw_turn_id',
  );

const readCallContext = createRoute({
  method: 'get',
  path: '/v1/raw_turns/{raw_turn_id}/context',
  operationId: 'readCallContext',
  tags: ['raw turns'],
  summary:
    'What the model saw in a call, block by block with the tokens of each, and what had changed since another call',
  request: { params: z.object({ raw_turn_id: RawTurnId }), query: z.object({ against: AgainstParameter }) },
  responses: {
    200: json(CallContext, 'The blocks in the order in which the provider caches them'),
    400: json(Failure, 'Nothing that can be compared with', [
      'bad-request',
      'Cannot read the query: "against" must be previous, none, or the number of a raw turn',
    ]),
    404: json(Failure, 'No such raw turn, or it has no request that can be read', NO_TURN),
    ...guardedPayloads,
  },
});

const readBlock = createRoute({
  method: 'get',
  path: '/v1/raw_turns/{raw_turn_id}/blocks/{n}',
  operationId: 'readPromptBlock',
  tags: ['raw turns'],
  summary: 'One block of the context of a call, whole',
  request: {
    params: z.object({
      raw_turn_id: RawTurnId,
      n: z
        .string()
        .regex(/^(?:0|[1-9]\d{0,8})$/)
        .transform(Number)
        .openapi({ type: 'integer', minimum: 0, maximum: 999_999_999, examples: [0] }),
    }),
  },
  responses: {
    200: json(BlockContent, 'The block as the request has it'),
    404: json(Failure, 'No such raw turn, it has no request that can be read, or that has no such block', NO_TURN),
    ...guardedPayloads,
  },
});

export const callContextApp = ({ execute, priceOf }: Reads) =>
  routes()
    .openapi(readCallContext, async (c) => {
      const { raw_turn_id } = c.req.valid('param');
      const read = await readContext({ execute, priceOf }, raw_turn_id, againstOf(c.req.valid('query').against));
      if (read === null) throw await promptless(execute, raw_turn_id);
      if (read === 'against')
        throw new Refusal(
          'raw-turn-promptless',
          'Cannot compare with that raw turn: it has no request that can be read',
        );
      return c.json(callContext(read, await spansOf(execute, read)), 200);
    })
    .openapi(readBlock, async (c) => {
      const { raw_turn_id, n } = c.req.valid('param');
      const prompt = await promptBlocksOf({ execute, priceOf }, raw_turn_id);
      if (!prompt) throw await promptless(execute, raw_turn_id);
      const block = prompt.blocks[n];
      if (!block)
        throw new Refusal(
          'block-unknown',
          `Cannot read the block: the prompt has ${prompt.blocks.length}, the first is 0`,
        );
      const { id, path } = block;
      return c.json({ n, id, path, json: block.json(), text: block.text(), exact: isUtf8(block.raw()) }, 200);
    });

const againstOf = (against: string): Against =>
  against === 'previous' || against === 'none' ? against : Number(against);

/** Why a raw turn has no prompt that can be shown. */
async function promptless(execute: Database['execute'], raw_turn_id: number): Promise<Refusal> {
  const turn = await execute('readRawTurn', { raw_turn_id });
  if (!turn) return new Refusal(...NO_TURN);
  const { source, format, meta = {} } = turn.head;
  const why =
    source === 'transcript'
      ? 'it is of a transcript, which holds no request'
      : format === undefined
        ? 'it is in no format that is known here'
        : meta.kept !== undefined && meta.kept !== 'full'
          ? 'its bodies were not to be stored'
          : 'its request cannot be read';
  return new Refusal('raw-turn-promptless', `Cannot read the prompt of the raw turn: ${why}`);
}
