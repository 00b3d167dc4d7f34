/** The query for sessions: by words, attributes and a window of time, in one of six orders; and for the values of an attribute. */
import { z } from '@hono/zod-openapi';
import { Attribute, Bound, boundSchema } from './filter.ts';
import { At, Cursor, Id, Limit } from './page.ts';
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

/** Another session's id; null: any. An empty parameter is an absent one. */
const Relation = z
  .union([z.literal(''), Id])
  .optional()
  .transform((id) => id?.toLowerCase() || null);

/** Null: either. */
const Starred = z
  .enum(['', 'true', 'false'], { error: 'must be true or false' })
  .optional()
  .transform((flag) => (flag ? flag === 'true' : null));

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
  harness_session_id: Attribute.openapi({
    type: 'string',
    description: 'sessions that their harness calls by this id',
    examples: ['019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20'],
  }),
  status: Statuses.openapi({
    type: 'array',
    items: { type: 'string', enum: SessionStatus.options },
    param: { style: 'form', explode: false },
    description: 'any of these, with commas between',
  }),
  parent_session_id: Relation.openapi({
    type: 'string',
    format: 'uuid',
    description: 'sessions that this one started',
  }),
  fork_of_session_id: Relation.openapi({
    type: 'string',
    format: 'uuid',
    description: 'sessions that go on from the history of this one',
  }),
  starred: Starred.openapi({ type: 'boolean', description: 'whether a person has starred it' }),
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

const FACET_FIELDS = ['project', 'agent_name', 'model', 'provider', 'harness_id'] as const;
export type FacetField = (typeof FACET_FIELDS)[number];

export const FacetsQuery = z.object({
  field: z
    .enum(FACET_FIELDS, oneOf(FACET_FIELDS))
    .openapi({ description: 'whose values; a filter by the same field does not count' }),
  ...filters,
  limit: Limit,
});

const Facet = z.object({
  value: z.string(),
  sessions: z.int().describe('that match the other filters and have it'),
  last_seen_at: At.describe('of the one that was seen last'),
});
export type Facet = z.infer<typeof Facet>;

export const Facets = z
  .object({ items: z.array(Facet).describe('the values of most sessions first') })
  .openapi('Facets', {
    examples: [{ items: [{ value: 'engine', sessions: 31, last_seen_at: '2026-07-27T09:41:12.000512Z' }] }],
  });
