/** Statistics of the stored messages: counts and sums over those that a filter matches. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';

export const StatsQuery = z.object({
  project: Attribute.openapi({ type: 'string', description: 'messages of this project' }),
  agent_name: Attribute.openapi({ type: 'string', description: 'messages of calls by this agent' }),
  model: Attribute.openapi({ type: 'string', description: 'messages of calls to this model, as the answer names it' }),
  provider: Attribute.openapi({ type: 'string', description: 'messages of calls to this provider' }),
  since: Bound.openapi(boundSchema('messages made then or later')),
  until: Bound.openapi(boundSchema('messages made before')),
});

/** All that is not null must hold. `since` is within the window, `until` is not; both as `Bound` returns them. */
export type StatsFilter = z.infer<typeof StatsQuery>;

export const Stats = z
  .object({
    session_count: z.int().describe('sessions with a matching head: a message that none of the conversation follows'),
    turn_count: z
      .int()
      .describe('matching messages, each stored once in its session; `turn_count` of a session counts its traces'),
    root_count: z.int().describe('matching messages with which a conversation begins'),
    completed_count: z
      .int()
      .describe('sessions with a matching head that is an answer stopped by stop, end_turn, end-turn or eos'),
    total_cost: z.number().describe('USD, of the matching answers that have a price'),
    input_tokens: z.int().describe('of the matching answers; cache reads and writes included'),
    output_tokens: z.int().describe('of the matching answers; reasoning included'),
    total_duration_ns: z
      .number() // `z.int()` ends at 2^53, which is 104 days; whole microseconds above are still distinct
      .openapi({
        type: 'integer',
        description:
          'from the first matching message to the last, over all sessions and what lies between them: no time that was worked',
      }),
    tool_calls: z.int().describe('tool calls in matching messages'),
    unpriced_models: z.array(z.string()).describe('models with tokens that have no price, so are not in total_cost'),
  })
  .openapi('Stats', {
    examples: [
      {
        session_count: 2,
        turn_count: 31,
        root_count: 2,
        completed_count: 1,
        total_cost: 0.213_405,
        input_tokens: 184_201,
        output_tokens: 3_120,
        total_duration_ns: 671_877_056_000,
        tool_calls: 7,
        unpriced_models: ['llama3'],
      },
    ],
  });
export type Stats = z.infer<typeof Stats>;
