/** Finding text in what was recorded: across sessions by an index, within one as it is looked through. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { At, NextCursor } from './page.ts';

export const FIND_PLACES = ['conversation', 'tools', 'thinking', 'prompt'] as const;
export const FindPlace = z
  .enum(FIND_PLACES)
  .describe(
    'conversation: prompts and answers; tools: inputs, results and errors of tools; thinking; prompt: system prompts and definitions of tools',
  );
export type FindPlace = z.infer<typeof FindPlace>;

/** GET /v1/find */
export const FindQuery = z.object({
  text: z.string().min(1).max(1_024).describe('words, an identifier, a path, or a part of one, in any language'),
  in: z.string().optional().describe('places, separated by commas; absent: conversation, tools and thinking'),
  project: Attribute.openapi({ type: 'string' }),
  agent_name: Attribute.openapi({ type: 'string' }),
  model: Attribute.openapi({ type: 'string' }),
  tool: Attribute.openapi({ type: 'string', description: 'the name of a tool' }),
  status: z.enum(['ok', 'error', 'partial']).optional(),
  since: Bound.openapi(boundSchema('spans begun then or later')),
  until: Bound.openapi(boundSchema('spans begun before')),
});

/** Where a text stands. Offsets are UTF-16 units of the block's text. */
export const FindMatch = z.object({
  side: z.enum(['input', 'output', 'error', 'prompt']),
  block: z.int().describe('of `input` or `output` of the span, or of the context of the call where `side` is prompt'),
  start: z.int(),
  end: z.int(),
  before: z.string().describe('at most 80 characters'),
  match: z.string(),
  after: z.string().describe('at most 80 characters'),
});

export const FindHit = z
  .object({
    session_id: z.uuid(),
    trace_id: z.uuid(),
    span_id: z.uuid(),
    raw_turn_id: z.int().nullable(),
    title: z.string().nullable().describe('of the session'),
    kind: z.string(),
    name: z.string(),
    model: z.string(),
    status: z.string(),
    at: At,
    place: FindPlace,
    score: z.number().describe('higher is better; compares hits of one answer only'),
    matches: z.array(FindMatch).describe('the first few'),
  })
  .openapi('FindHit');
export type FindHit = z.infer<typeof FindHit>;

export const FindPage = z
  .object({
    items: z.array(FindHit).describe('best first'),
    spans: z.int().describe('how many there are to look in'),
    spans_indexed: z.int().describe('of which so many are in the index'),
    substrings: z.boolean().describe('false: this database cannot find parts of words'),
    next_cursor: NextCursor,
  })
  .openapi('FindPage');
export type FindPage = z.infer<typeof FindPage>;

/** One line of GET /v1/sessions/{id}/find. */
export const FindLine = z
  .union([
    FindMatch.extend({
      trace_id: z.uuid(),
      span_id: z.uuid(),
      raw_turn_id: z.int().nullable(),
      place: FindPlace,
    }),
    z
      .object({ searched: z.int(), of: z.int(), complete: z.boolean() })
      .describe('now and then, and last: spans looked through'),
  ])
  .openapi('FindLine');
export type FindLine = z.infer<typeof FindLine>;
