/** svc_stats: the totals of GET /v1/stats. */
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { Stats, StatsQuery } from '../../model/stats.ts';
import { dollars, grouped, lasting, oneLine } from './quote.ts';
import { MESSAGE_FILTERS, readFilter } from './read-filter.ts';
import { coreTool } from './tool.ts';

const Input = z.strictObject({
  ...MESSAGE_FILTERS,
  since: z
    .string()
    .optional()
    .describe('RFC 3339, such as 2026-07-27T00:00:00Z, a day, today or yesterday (UTC); then or later'),
  until: z.string().optional().describe('as since; before that'),
});

const MOST_MODELS = 50; // clients choose the names, so there may be any number

const Totals = Stats.extend({
  unpriced_models: z.array(z.string()).max(MOST_MODELS).describe('the first models that have no price'),
});

export const statsTool = ({ execute }: { execute: Database['execute'] }) =>
  coreTool({
    name: 'svc_stats',
    title: 'Totals of recorded conversations',
    description: [
      'Counts sessions, messages, tool calls, tokens and USD over all recorded conversations, or those of a project,',
      'agent, model, provider and window of time. For questions such as "what did last week cost". One small answer.',
      'Filters are exact; nothing matching gives zeros.',
    ].join(' '),
    input: Input,
    output: Totals,
    run: async (input) => {
      const stats = await execute('readStats', readFilter('svc_stats', StatsQuery, input));
      const unpriced_models = stats.unpriced_models.slice(0, MOST_MODELS).map((model) => oneLine(model, 100));
      const totals = { ...stats, unpriced_models };
      return { text: statsText(totals), structured: totals };
    },
  });

const statsText = (stats: Stats): string =>
  [
    `${grouped(stats.session_count)} sessions, ${grouped(stats.completed_count)} of them completed`,
    `${grouped(stats.turn_count)} messages, ${grouped(stats.root_count)} of which began a conversation`,
    `${grouped(stats.tool_calls)} tool calls`,
    `${grouped(stats.input_tokens)} tokens in, ${grouped(stats.output_tokens)} out, ${dollars(stats.total_cost)}`,
    ...(stats.unpriced_models.length === 0
      ? []
      : [`not in that cost, since their price is unknown: ${JSON.stringify(stats.unpriced_models)}`]),
    `${lasting(stats.total_duration_ns / 1e6)} from the first message to the last`,
  ].join('\n');
