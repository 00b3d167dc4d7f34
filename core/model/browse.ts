/** The query for sessions: by words, attributes and a window of time, in one of six orders. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { Cursor, Limit } from './page.ts';
import { Session } from './session.ts';

const MOST_WORDS = 16;
const LONGEST_TEXT = 500;

/** What the database takes for a word: a run of letters and digits. */
const WORD = /[\p{Alphabetic}0-9]+/gu;

/** The distinct words of a text, as written; null without a text. */
const Words = z
  .string()
  .max(LONGEST_TEXT, `must have at most ${LONGEST_TEXT} characters`)
  .optional()
  .transform((text, context) => {
    if (!text) return null;
    const words = [...new Set(text.match(WORD))];
    if (words.length >= 1 && words.length <= MOST_WORDS) return words;
    context.addIssue(`must hold between 1 and ${MOST_WORDS} words, which are runs of letters or digits`);
    return z.NEVER;
  });

const SessionStatus = Session.shape.rollup.shape.status;

/** A comma list; sorted, each once. Null: any. */
const Statuses = z
  .string()
  .optional()
  .transform((list, context) => {
    if (!list) return null;
    const statuses = z.array(SessionStatus).safeParse([...new Set(list.split(','))].sort());
    if (statuses.success) return statuses.data;
    context.addIssue(`must be one of ${SessionStatus.options.join(', ')}, or some of them with commas between`);
    return z.NEVER;
  });

const SORTS = ['last_active', 'started_at', 'turn_count', 'total_cost', 'total_tokens', 'duration'] as const;
export type SessionSort = (typeof SORTS)[number];

const DIRECTIONS = ['desc', 'asc'] as const;
export type Direction = (typeof DIRECTIONS)[number];

const oneOf = (options: readonly string[]) => ({ error: `must be one of ${options.join(', ')}` });

const filters = {
  text: Words.openapi({
    type: 'string',
    maxLength: LONGEST_TEXT,
    description:
      'words, in any case; each begins a word of the names, title or preview of the session, or of a prompt or an answer as a trace shows them',
    examples: ['carry adder'],
  }),
  project: Attribute.openapi({ type: 'string', description: 'sessions of this project' }),
  agent_name: Attribute.openapi({ type: 'string', description: 'sessions of this agent' }),
  model: Attribute.openapi({ type: 'string', description: 'sessions with a call that this model answered' }),
  provider: Attribute.openapi({ type: 'string', description: 'sessions with a call to this provider' }),
  harness_id: Attribute.openapi({ type: 'string', description: 'sessions of this harness' }),
  status: Statuses.openapi({
    type: 'array',
    items: { type: 'string', enum: SessionStatus.options },
    param: { style: 'form', explode: false },
    description: 'any of these, with commas between',
  }),
  since: Bound.openapi(boundSchema('seen then or later')),
  until: Bound.openapi(boundSchema('started before')),
};

/** All that is not null must hold. */
const SessionFilter = z.object(filters);
export type SessionFilter = z.infer<typeof SessionFilter>;

export const BrowseQuery = z.object({
  ...filters,
  sort: z
    .enum(SORTS, oneOf(SORTS))
    .default('last_active')
    .openapi({ description: 'total_cost: where it is unknown, last in both directions' }),
  direction: z.enum(DIRECTIONS, oneOf(DIRECTIONS)).default('desc'),
  limit: Limit,
  cursor: Cursor,
});
