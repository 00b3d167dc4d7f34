/** What does an agent want to see? Its arguments, read as the query of the route that has the same filters. */
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { BOUND } from '../../model/filter.ts';

/** @throws {Refusal} bad-request, with what would do */
export function readFilter<Query>(tool: string, query: z.ZodType<Query>, given: Record<string, unknown>): Query {
  const read = query.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = String(issue?.path[0]);
  const wanted = name === 'since' || name === 'until' ? BOUND : issue?.message;
  throw new Refusal('bad-request', `Cannot call ${tool}: "${name}" ${wanted}`);
}
