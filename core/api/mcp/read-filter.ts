/** What does an agent want to see? Its arguments, read as the query of the route that has the same filters. */
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';

/** @throws {Refusal} bad-request, with what would do */
export function readFilter<Query>(tool: string, query: z.ZodType<Query>, given: Record<string, unknown>): Query {
  const read = query.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = String(issue?.path[0]);
  const wanted =
    name === 'since' || name === 'until'
      ? 'must be an RFC 3339 timestamp such as 2026-07-27T09:30:00Z or 2026-07-27T11:30:00+02:00'
      : issue?.message;
  throw new Refusal('bad-request', `Cannot call ${tool}: "${name}" ${wanted}`);
}
