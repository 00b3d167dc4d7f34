/** A break of the prompt cache as the tools of MCP show it: its cause, its place to the character, what it cost and what helps. */
import { z } from 'zod';
import { BreakCause, type CacheBreak } from '../../model/cache-break.ts';
import { dollars, grouped, minute, oneLine } from './quote.ts';

export const QuotedBreak = z.object({
  session_id: z.uuid(),
  raw_turn_id: z.int(),
  at: z.string(),
  cause: BreakCause,
  planned: z.boolean(),
  rewritten_tokens: z.int(),
  lost_usd: z.number().nullable().describe('null: unknown'),
  where: z.string().optional().describe('in the request'),
  char: z.int().optional().describe('the first that differs, from 0'),
  was: z.string().optional().describe('quoted from the record'),
  is: z.string().optional().describe('quoted from the record'),
  advice: z.string().optional(),
});
export type QuotedBreak = z.infer<typeof QuotedBreak>;

export const quotedBreak = (one: CacheBreak): QuotedBreak => ({
  session_id: one.session_id,
  raw_turn_id: one.raw_turn_id,
  at: one.at,
  cause: one.cause,
  planned: one.planned,
  rewritten_tokens: one.rewritten_tokens,
  lost_usd: one.lost_usd,
  ...(one.where && { where: oneLine(one.where.path, 200) }),
  ...(one.where?.char != null && { char: one.where.char }),
  ...(one.was !== null && { was: oneLine(one.was, 200) }),
  ...(one.is !== null && { is: oneLine(one.is, 200) }),
  ...(one.advice !== null && { advice: oneLine(one.advice, 300) }),
});

export const breakLines = (one: QuotedBreak): string =>
  [
    `raw turn ${one.raw_turn_id}, ${minute(one.at)}, ${one.cause}${one.planned ? ' (planned)' : ''}, ${grouped(one.rewritten_tokens)} tokens again, ${dollars(one.lost_usd)}`,
    ...(one.where === undefined ? [] : [`at ${one.where}${one.char === undefined ? '' : `, character ${one.char}`}`]),
    ...(one.was === undefined ? [] : [`was ${JSON.stringify(one.was)}`]),
    ...(one.is === undefined ? [] : [`is ${JSON.stringify(one.is)}`]),
    ...(one.advice === undefined ? [] : [one.advice]),
  ].join('\n  ');
