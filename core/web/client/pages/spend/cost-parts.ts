/** The parts of a cost, in words. */
import type { CostParts } from '../../../../model/stats-series.ts';

export const COST_PART_WORDS: Readonly<Record<keyof CostParts, string>> = {
  cache_read: 'cache reads',
  cache_write_5m: 'cache writes, 5 minutes',
  cache_write_1h: 'cache writes, 1 hour',
  fresh: 'fresh input',
  output: 'output',
  reasoning: 'reasoning',
  unsplit: 'not split yet',
};
export const COST_PART_NAMES = Object.keys(COST_PART_WORDS) as (keyof CostParts)[];
