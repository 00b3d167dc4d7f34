/** The facts of a session by which an agent recognises it. */
import { z } from 'zod';
import type { Session } from '../../model/session.ts';
import { dollars, grouped, minute, oneLine } from './quote.ts';

export const ShownFacts = z.object({
  id: z.uuid(),
  title: z.string().describe('quoted from the record'),
  started_at: z.string(),
  last_seen_at: z.string(),
  harness: z.string(),
  project: z.string().optional(),
  cwd: z.string().optional(),
  status: z.enum(['completed', 'failed', 'abandoned', 'interrupted', 'unknown']),
  turns: z.int(),
  model: z.string().optional().describe('used most'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number().nullable().describe('null: unknown'),
});
export type ShownFacts = z.infer<typeof ShownFacts>;

export const sessionFacts = ({ id, display_title, rollup, ...session }: Session): ShownFacts => ({
  id,
  title: oneLine(display_title, 120),
  started_at: session.started_at,
  last_seen_at: session.last_seen_at,
  harness: oneLine(session.harness_id, 40),
  ...(session.project === undefined ? {} : { project: oneLine(session.project, 60) }),
  ...(session.cwd === undefined ? {} : { cwd: oneLine(session.cwd, 160) }),
  status: rollup.status,
  turns: rollup.turn_count,
  ...(rollup.model === undefined ? {} : { model: oneLine(rollup.model, 60) }),
  input_tokens: rollup.usage.input_tokens,
  output_tokens: rollup.usage.output_tokens,
  cost_usd: rollup.usage.cost_usd,
});

export const sessionLines = (facts: ShownFacts): string =>
  [
    `${facts.id} ${JSON.stringify(facts.title)}`,
    [
      `${minute(facts.started_at)} to ${minute(facts.last_seen_at)}`,
      facts.status,
      facts.harness,
      ...(facts.project === undefined ? [] : [`project ${facts.project}`]),
      ...(facts.cwd === undefined ? [] : [facts.cwd]),
    ].join(', '),
    [
      `${grouped(facts.turns)} ${facts.turns === 1 ? 'turn' : 'turns'}`,
      ...(facts.model === undefined ? [] : [facts.model]),
      `${grouped(facts.input_tokens)} tokens in, ${grouped(facts.output_tokens)} out`,
      dollars(facts.cost_usd),
    ].join(', '),
  ].join('\n  ');
