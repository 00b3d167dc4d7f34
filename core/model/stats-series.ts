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
  .describe('USD; `output` without reasoning, with web searches; together exactly the cost')
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
  .openapi('StatsSeries');
export type StatsSeries = z.infer<typeof StatsSeries>;
