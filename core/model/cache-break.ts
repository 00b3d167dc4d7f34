/** A break of the prompt cache: a call that sent again what the provider held, and paid to have it written once more. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { At, Cursor, cursorExample, Limit, NextCursor } from './page.ts';

/** The first that holds, in this order; what each means is in `core/prompt/README.md`. */
export const BREAK_CAUSES = [
  'first',
  'model',
  'tools',
  'system',
  'parameters',
  'compaction',
  'history',
  'mark',
  'small',
  'expired',
  'unexplained',
] as const;
export const BreakCause = z.enum(BREAK_CAUSES);
export type BreakCause = z.infer<typeof BreakCause>;

export const PROMPT_SECTIONS = ['tools', 'system', 'messages'] as const;
export const PromptSection = z.enum(PROMPT_SECTIONS).describe('in the order in which a provider caches them');
export type PromptSection = z.infer<typeof PromptSection>;

const cacheBreakExample = {
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  raw_turn_id: 41,
  trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
  at: '2026-07-27T09:30:00.123456Z',
  model: 'claude-sonnet-4-6',
  cause: 'tools',
  ground: 'bytes',
  planned: false,
  expected_tokens: 129_400,
  read_tokens: 0,
  rewritten_tokens: 129_400,
  lost_usd: 0.446_43,
  before: { raw_turn_id: 40, gap_ms: 22_000, ttl: '5m' },
  where: { section: 'tools', block: 14, path: 'tools[14].description', char: 212 },
  was: 'Today is Fri Nov 20',
  is: 'Today is Sat Nov 21',
  advice: 'Keep what changes behind the last cache mark: 97 % of the prompt stands behind this block',
} as const;

export const CacheBreak = z
  .object({
    session_id: z.uuid(),
    raw_turn_id: z.int(),
    trace_id: z.uuid().nullable(),
    span_id: z.uuid().nullable(),
    at: At,
    model: z.string(),
    cause: BreakCause,
    ground: z
      .enum(['bytes', 'clock', 'inferred'])
      .describe('what the cause is known from: the prompts themselves, the time between the calls, or neither'),
    planned: z.boolean().describe('listed, and not counted as lost: a first call, a compaction, another model'),
    expected_tokens: z.int().describe('of what the provider held and this call sent again'),
    read_tokens: z.int().describe('that were read from the cache, as billed'),
    rewritten_tokens: z.int().describe('expected less read'),
    lost_usd: z.number().nullable().describe("at the rates of the call's own price row; null: it has none"),
    before: z
      .object({
        raw_turn_id: z.int(),
        gap_ms: z.int().describe('from the last use of what it wrote to this call'),
        ttl: z.enum(['5m', '1h']).nullable().describe('lifetime of what was written, as the usage states it'),
      })
      .nullable()
      .describe('the call whose prompt shares the longest beginning with this one'),
    where: z
      .object({
        section: PromptSection,
        block: z.int().describe('place in cache order, 0 first'),
        path: z.string().describe('in the request, such as `tools[14].description`'),
        char: z
          .int()
          .nullable()
          .describe('of the text at that path, from 0, in UTF-16 units; null: no two texts differ there'),
      })
      .nullable(),
    was: z.string().nullable().describe('around that place, at most 200 characters'),
    is: z.string().nullable(),
    advice: z.string().nullable().describe('one sentence with the numbers of this call'),
  })
  .openapi('CacheBreak', {
    examples: [cacheBreakExample],
  });
export type CacheBreak = z.infer<typeof CacheBreak>;

/** GET /v1/sessions/{id}/cache */
export const SessionCache = z
  .object({
    read_tokens: z.int(),
    write_tokens: z.int(),
    fresh_tokens: z.int().describe('billed as plain input'),
    rewrite_factor: z.number().nullable().describe('written tokens ÷ largest prompt; null: nothing was written'),
    saved_usd: z
      .number()
      .nullable()
      .describe('what the read tokens would have cost as plain input, less what they cost'),
    lost_usd: z.number().nullable().describe('of the breaks that were not planned; null: no call has a price'),
    verdict: z
      .enum(['judged', 'does not say'])
      .describe('does not say: no provider of this session states how it caches'),
    calls: z.int().describe('that were looked at: those whose prompts can be read'),
    truncated: z
      .boolean()
      .describe(
        'the session is too long to be read whole: all of this is of its first calls, and says nothing of the later ones',
      ),
    breaks: z.array(CacheBreak),
  })
  .openapi('SessionCache', {
    examples: [
      {
        read_tokens: 9_700_000,
        write_tokens: 512_000,
        fresh_tokens: 21_000,
        rewrite_factor: 2.8,
        saved_usd: 25.8,
        lost_usd: 0.446_43,
        verdict: 'judged',
        calls: 130,
        truncated: false,
        breaks: [cacheBreakExample],
      },
    ],
  });
export type SessionCache = z.infer<typeof SessionCache>;

/** GET /v1/cache/breaks */
export const BreaksQuery = z.object({
  since: Bound.openapi(boundSchema('breaks of calls made then or later')),
  until: Bound.openapi(boundSchema('breaks of calls made before')),
  project: Attribute.openapi({ type: 'string', description: 'breaks in sessions of this project' }),
  agent_name: Attribute.openapi({ type: 'string', description: 'breaks in sessions of this agent' }),
  model: Attribute.openapi({ type: 'string', description: 'breaks of calls that this model answered' }),
  by: z.enum(['cause', 'project', 'harness']).default('cause').describe('what the groups are of'),
  limit: Limit,
  cursor: Cursor,
});

export const BreaksPage = z
  .object({
    groups: z
      .array(
        z.object({
          key: z.string().describe('the cause, the project, or harness and version'),
          cause: BreakCause,
          breaks: z.int(),
          rewritten_tokens: z.int(),
          lost_usd: z.number().nullable(),
        }),
      )
      .describe('dearest first, over all that match; planned breaks are left out'),
    items: z.array(CacheBreak).describe('newest first; planned ones are left out'),
    sessions: z.int().describe('whose calls were looked at'),
    sessions_waiting: z.int().describe('that have changed since, or were not looked at yet'),
    next_cursor: NextCursor,
  })
  .openapi('CacheBreaksPage', {
    examples: [
      {
        groups: [{ key: 'tools', cause: 'tools', breaks: 41, rewritten_tokens: 5_200_000, lost_usd: 17.94 }],
        items: [cacheBreakExample],
        sessions: 120,
        sessions_waiting: 1,
        next_cursor: cursorExample,
      },
    ],
  });
export type BreaksPage = z.infer<typeof BreaksPage>;
