/** The filters of a tool call: its arguments, parsed as the query of the route with the same filters. */
import { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { BOUND } from '../../model/filter.ts';
import { PROVIDER_NAMES } from '../../provider/provider-ids.ts';

/** The arguments of tools that sum up messages, but for the window of time. */
export const MESSAGE_FILTERS = {
  project: z.string().optional().describe('only this project'),
  agent_name: z.string().optional().describe('only calls by this agent'),
  model: z.string().optional().describe('only this model, by its full name'),
  provider: z.string().optional().describe(PROVIDER_NAMES),
};

/** @throws {Refusal} bad-request, with what would be valid */
export function readFilter<Query>(tool: string, query: z.ZodType<Query>, args: Record<string, unknown>): Query {
  const parsed = query.safeParse(args);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0]);
  const problem = name === 'since' || name === 'until' ? BOUND : issue?.message;
  throw new Refusal('bad-request', `Cannot call ${tool}: "${name}" ${problem}`);
}
