/** Finding text in what was recorded: across sessions by an index, within one as it is looked through. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { At, Cursor, limitOf, NextCursor } from './page.ts';

export const FIND_PLACES = ['conversation', 'tools', 'thinking', 'prompt'] as const;
export const FindPlace = z
  .enum(FIND_PLACES)
  .describe(
    'conversation: prompts and answers; tools: inputs, results and errors of tools; thinking; prompt: system prompts and definitions of tools',
  );
export type FindPlace = z.infer<typeof FindPlace>;

/** Places, separated by commas. */
const places = (usual: readonly FindPlace[]) =>
  z
    .string()
    .optional()
    .transform((list, context): FindPlace[] => {
      if (!list) return [...usual];
      const listed = z.array(FindPlace).safeParse([...new Set(list.split(','))].sort());
      if (listed.success) return listed.data;
      context.addIssue(`must be one of ${FIND_PLACES.join(', ')}, or some of them with commas between`);
      return z.NEVER;
    })
    .openapi({
      type: 'array',
      items: { type: 'string', enum: [...FIND_PLACES] },
      param: { style: 'form', explode: false },
      description: `${FindPlace.description}; absent: ${usual.join(', ')}`,
    });

const Sought = z.string().min(1).max(1_024);

const FIND_PAGE = { usual: 20, largest: 50 };

/** GET /v1/find */
export const FindQuery = z.object({
  text: Sought.describe('words, an identifier, a path, or a part of one, in any language'),
  in: places(['conversation', 'tools', 'thinking']),
  project: Attribute.openapi({ type: 'string', description: 'spans of this project' }),
  agent_name: Attribute.openapi({ type: 'string', description: 'spans of calls by this agent' }),
  model: Attribute.openapi({ type: 'string', description: 'spans of this model' }),
  provider: Attribute.openapi({ type: 'string', description: 'spans of calls to this provider' }),
  harness_id: Attribute.openapi({ type: 'string', description: 'spans of sessions of this harness' }),
  tool: Attribute.openapi({ type: 'string', description: 'the name of a tool' }),
  status: z.enum(['ok', 'error', 'partial']).optional().describe('of the span'),
  since: Bound.openapi(boundSchema('spans begun then or later')),
  until: Bound.openapi(boundSchema('spans begun before')),
  limit: limitOf('hits in a page', FIND_PAGE),
  cursor: Cursor,
});

/** GET /v1/sessions/{id}/find */
export const FindInSessionQuery = z.object({
  text: Sought.describe('any text, as it is written; letters of either case are the same'),
  in: places(FIND_PLACES),
  thread: z.string().max(500).optional().describe('only this thread; empty: the main one'),
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

const hitExample = {
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
  raw_turn_id: 12,
  title: 'The adder drops its carry',
  kind: 'llm',
  name: 'claude-sonnet-4-5',
  model: 'claude-sonnet-4-5',
  status: 'ok',
  at: '2026-07-27T09:30:00.123456Z',
  place: 'conversation' as const,
  score: 1.2,
  matches: [
    {
      side: 'output' as const,
      block: 0,
      start: 4,
      end: 9,
      before: 'The ',
      match: 'carry',
      after: ' is now passed on.',
    },
  ],
};

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
  .openapi('FindHit', { examples: [hitExample] });
export type FindHit = z.infer<typeof FindHit>;

/** A word that no text has, as it was sought in lower case, and the nearest one that some text has. */
export const ReplacedWord = z.object({ word: z.string(), by: z.string() });
export type ReplacedWord = z.infer<typeof ReplacedWord>;

export const FindPage = z
  .object({
    items: z.array(FindHit).describe('best first'),
    spans: z.int().describe('how many there are to look in'),
    spans_indexed: z.int().describe('of which so many are in the index'),
    substrings: z.boolean().describe('false: this database cannot find parts of words'),
    replaced_words: z
      .array(ReplacedWord)
      .optional()
      .describe('words that no text has, with the nearest ones, which were looked for beside them; absent: none'),
    next_cursor: NextCursor,
  })
  .openapi('FindPage', {
    examples: [{ items: [hitExample], spans: 340, spans_indexed: 338, substrings: true }],
  });
export type FindPage = z.infer<typeof FindPage>;

const SessionMatch = FindMatch.extend({
  trace_id: z.uuid(),
  span_id: z.uuid(),
  raw_turn_id: z.int().nullable(),
  place: FindPlace,
});
export type SessionMatch = z.infer<typeof SessionMatch>;

/** One line of GET /v1/sessions/{id}/find. */
export const FindLine = z
  .union([
    SessionMatch,
    z
      .object({ searched: z.int(), of: z.int(), complete: z.boolean() })
      .describe('now and then, and last: spans looked through'),
  ])
  .openapi('FindLine', { examples: [{ searched: 340, of: 340, complete: true }] });
export type FindLine = z.infer<typeof FindLine>;
