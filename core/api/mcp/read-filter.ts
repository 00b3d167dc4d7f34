/** The filters of a tool call: its arguments, parsed as the query of the route with the same filters. */
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { BOUND } from '../../model/filter.ts';

/** @throws {Refusal} bad-request, with what would be valid */
export function readFilter<Query>(tool: string, query: z.ZodType<Query>, args: Record<string, unknown>): Query {
  const parsed = query.safeParse(args);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0]);
  const problem = name === 'since' || name === 'until' ? BOUND : issue?.message;
  throw new Refusal('bad-request', `Cannot call ${tool}: "${name}" ${problem}`);
}
