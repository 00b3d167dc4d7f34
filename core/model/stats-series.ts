/** Statistics as a series in time: for each day or hour and each key, tokens and the cost in its parts. */
import { z } from '@hono/zod-openapi';
import { At } from './page.ts';
import { StatsQuery } from './stats.ts';

export const COST_PARTS = ['fresh', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'reasoning'] as const;
export type CostPart = (typeof COST_PARTS)[number];

const usd = z.number();
export const CostParts = z
  .object({
    fresh: usd,
    cache_read: usd,
    cache_write_5m: usd,
    cache_write_1h: usd,
    output: usd,
    reasoning: usd,
    unsplit: usd
      .optional()
      .describe(
        'of responses whose parts are not known: those that a release before the parts stored; left out when 0',
      ),
  })
  .describe('USD; `output` without reasoning, with the fees of hosted tools; together exactly the cost')
  .openapi('CostParts');
export type CostParts = z.infer<typeof CostParts>;

export const SeriesQuery = StatsQuery.extend({
  bucket: z.enum(['day', 'hour']).default('day').describe('of UTC; hours only within a window of at most 8 days'),
  by: z.enum(['model', 'project', 'agent_name', 'provider']).default('model'),
});

/** As `StatsFilter`. */
export type SeriesFilter = z.infer<typeof SeriesQuery>;

const SeriesCell = z.object({
  cost_usd: z.number(),
  cost: CostParts,
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  reasoning_tokens: z.int(),
  turn_count: z.int(),
  tool_calls: z.int(),
  unpriced_tokens: z.int().describe('input and output of answers whose model has no price'),
});
export type SeriesCell = z.infer<typeof SeriesCell>;

const cellExample = {
  cost_usd: 0.0234,
  cost: {
    fresh: 0.0006,
    cache_read: 0.0054,
    cache_write_5m: 0.01125,
    cache_write_1h: 0,
    output: 0.00615,
    reasoning: 0,
  },
  input_tokens: 21_200,
  output_tokens: 410,
  cache_read_tokens: 18_000,
  cache_write_tokens: 3_000,
  reasoning_tokens: 0,
  turn_count: 4,
  tool_calls: 1,
  unpriced_tokens: 0,
};

export const StatsSeries = z
  .object({
    bucket: z.enum(['day', 'hour']),
    by: z.enum(['model', 'project', 'agent_name', 'provider']),
    keys: z
      .array(z.string())
      .describe('the dearest twelve, dearest first; what is left is the thirteenth, `other`, if anything is'),
    points: z
      .array(z.object({ at: At, cells: z.array(SeriesCell.nullable()).describe('one for each key; null: nothing') }))
      .describe('oldest first; buckets without anything are left out'),
    totals: z.array(SeriesCell).describe('of each key over the whole window'),
    total: SeriesCell,
    unpriced_models: z.array(z.object({ model: z.string(), tokens: z.int() })),
  })
  .openapi('StatsSeries', {
    examples: [
      {
        bucket: 'day',
        by: 'model',
        keys: ['claude-sonnet-4-5'],
        points: [{ at: '2026-07-27T00:00:00.000000Z', cells: [cellExample] }],
        totals: [cellExample],
        total: cellExample,
        unpriced_models: [{ model: 'llama3', tokens: 1_204 }],
      },
    ],
  });
export type StatsSeries = z.infer<typeof StatsSeries>;
