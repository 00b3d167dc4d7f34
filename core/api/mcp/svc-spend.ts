/** svc_spend: what was spent, by day and by model, project, agent or provider, in the parts of GET /v1/stats/series. */
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { StatsQuery } from '../../model/stats.ts';
import {
  COST_PARTS,
  type CostParts,
  type SeriesCell,
  SeriesQuery,
  type StatsSeries,
} from '../../model/stats-series.ts';
import { dollars, grouped, oneLine } from './quote.ts';
import { MESSAGE_FILTERS, readFilter } from './read-filter.ts';
import { coreTool } from './tool.ts';

const Input = z.strictObject({
  by: z.enum(['model', 'project', 'agent_name', 'provider']).default('model').describe('what the keys are'),
  ...MESSAGE_FILTERS,
  since: z
    .string()
    .optional()
    .describe(
      'RFC 3339, a day such as 2026-07-27, today or yesterday (UTC); then or later; default: 30 days before until',
    ),
  until: z.string().optional().describe('as since; before that; default: now'),
});

const MOST_DAYS = 92; // the newest
const MOST_MODELS = 50;

const Parts = z.object({
  ...(Object.fromEntries(COST_PARTS.map((part) => [part, z.number()])) as Record<
    (typeof COST_PARTS)[number],
    z.ZodNumber
  >),
  unsplit: z.number().optional().describe('of calls whose parts are not known'),
});
const Spent = z.object({ cost_usd: z.number(), cost: Parts, input_tokens: z.int(), output_tokens: z.int() });

const Output = z.object({
  since: z.string(),
  until: z.string(),
  total: Spent,
  before_usd: z.number().describe('cost of the window of the same length that ends where this one begins'),
  keys: z.array(Spent.extend({ key: z.string() })).describe('dearest first; a thirteenth is all others'),
  days: z.array(z.object({ day: z.string(), cost_usd: z.number() })).describe('days (UTC) with anything, oldest first'),
  unpriced: z.array(z.object({ model: z.string(), tokens: z.int() })).describe('models whose price is unknown'),
});
type Output = z.infer<typeof Output>;

const DAY_MS = 86_400_000;
const DAYS = 30; // of a window without a beginning
const MOST_KEYS = 12;

export const spendTool = ({ execute, now }: { execute: Database['execute']; now: () => number }) =>
  coreTool({
    name: 'svc_spend',
    title: 'What was spent, and on what',
    description: [
      'Shows the cost of a window of time in its parts (fresh input, cache reads and writes, output, reasoning), by model,',
      'project, agent or provider and by day, compared with the window before, and the models without a known price. For',
      'questions such as "where did the money go" and "is it rising". The parts add up to the cost exactly.',
    ].join(' '),
    input: Input,
    output: Output,
    run: async ({ by, ...filters }) => {
      const bounds = readFilter('svc_spend', SeriesQuery, { ...filters, by });
      const to = bounds.until === null ? now() : Date.parse(bounds.until);
      const since = filters.since ?? firstDay(Number.isNaN(to) ? now() : Math.min(to, now()));
      const window = readFilter('svc_spend', SeriesQuery, { ...filters, since, by });
      const from = Date.parse(window.since ?? '');
      const isBounded = Number.isFinite(from) && Number.isFinite(to) && to > from && 2 * from - to > 0;
      const before = isBounded
        ? { since: new Date(2 * from - to).toISOString(), until: new Date(from).toISOString() }
        : null;
      const [series, earlier] = await Promise.all([
        execute('readStatsSeries', window),
        before && execute('readStats', readFilter('svc_spend', StatsQuery, { ...filters, ...before })),
      ]);
      const structured = spendOf(
        series,
        since,
        new Date(Number.isFinite(to) ? to : now()).toISOString(),
        earlier?.total_cost ?? 0,
      );
      return { text: spendText(structured, by), structured };
    },
  });

/** The first day, in UTC, of the 30 that end at a time, the last of them being the day before where it is midnight. */
const firstDay = (endMs: number): string => new Date(endMs - 1 - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);

const spent = ({ cost_usd, cost, input_tokens, output_tokens }: SeriesCell) => ({
  cost_usd,
  cost,
  input_tokens,
  output_tokens,
});

function spendOf(
  { keys, totals, total, points, unpriced_models }: StatsSeries,
  since: string,
  until: string,
  before_usd: number,
): Output {
  return {
    ...{ since, until, total: spent(total), before_usd },
    keys: totals.map((cell, place) => ({
      key: place < MOST_KEYS ? oneLine(keys[place] ?? '', 100) : 'all others',
      ...spent(cell),
    })),
    days: points.slice(-MOST_DAYS).map(({ at, cells }) => ({
      day: at.slice(0, 10),
      cost_usd: cells.reduce((sum, cell) => sum + (cell?.cost_usd ?? 0), 0),
    })),
    unpriced: unpriced_models
      .slice(0, MOST_MODELS)
      .map(({ model, tokens }) => ({ model: oneLine(model, 100), tokens })),
  };
}

function spendText({ since, until, total, before_usd, keys, days, unpriced }: Output, by: string): string {
  return [
    `${dollars(total.cost_usd)} from ${since} to ${until}; ${dollars(before_usd)} in the window before`,
    partsText(total.cost),
    ...keys.map(({ key, cost_usd }) => `${by} ${JSON.stringify(key)}: ${dollars(cost_usd)}`),
    ...days.map(({ day, cost_usd }) => `${day} ${dollars(cost_usd)}`),
    ...unpriced.map(
      ({ model, tokens }) =>
        `not in that cost, since its price is unknown: ${JSON.stringify(model)}, ${grouped(tokens)} tokens`,
    ),
  ].join('\n');
}

const partsText = (cost: CostParts): string =>
  Object.entries(cost)
    .filter(([, usd = 0]) => usd > 0)
    .map(([part, usd = 0]) => `${part.replaceAll('_', ' ')} ${dollars(usd)}`)
    .join(', ') || 'no cost is known';
