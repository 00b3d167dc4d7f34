/** The requests and responses of search. */
import { z } from '@hono/zod-openapi';
import { FILTERS } from './filter.ts';
import { Match } from './text-half.ts';

const MOST = 100;
const DEFAULT = 5;
const QUESTION = 'why does the adder drop its carry';

const Query = z
  .string('is missing')
  .refine((text) => text.trim() !== '', 'is missing')
  .refine((text) => !text.includes('\0'), 'must not have the character NUL')
  .openapi({ description: 'what is looked for, in plain words', minLength: 1, examples: [QUESTION] });

const BOUNDS = `must be a whole number from 1 to ${MOST}`;

export const MODES = ['vector', 'hybrid', 'text'] as const;
const Mode = z.enum(MODES).default('vector').openapi({
  description:
    'vector: by meaning; text: by words, parts of words and identifiers; hybrid: by both, the ranks of each summed up',
});
export type Mode = z.infer<typeof Mode>;

/** The query of GET: its values are text, so the number is parsed here. */
export const SpanQuery = z.object({
  query: Query,
  top_k: z
    .string()
    .regex(/^\d{1,9}$/, BOUNDS)
    .default(String(DEFAULT))
    .transform(Number)
    .refine((count) => count >= 1 && count <= MOST, BOUNDS)
    .openapi({ type: 'integer', minimum: 1, maximum: MOST, default: DEFAULT, description: 'most results' }),
  mode: Mode,
  ...FILTERS,
});

/** The body of POST, which is also the tool. */
export const SpanQuestion = z
  .strictObject({
    query: Query,
    top_k: z.int(BOUNDS).min(1, BOUNDS).max(MOST, BOUNDS).default(DEFAULT).describe('most results'),
    mode: Mode,
    ...FILTERS,
  })
  .openapi('SpanQuestion', { examples: [{ query: QUESTION, top_k: 3 }] });

const hitExample = {
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
  score: 0.7431,
  user_prompt: 'The adder drops its carry, please look into it',
  snippet: 'The carry is now passed on.',
  model: 'claude-sonnet-4-5',
  started_at: '2026-07-27T09:30:00.123456Z',
};

const SpanHit = z
  .object({
    session_id: z.uuid(),
    trace_id: z.uuid(),
    span_id: z.uuid(),
    score: z
      .number()
      .describe('of vector the cosine, 1 means the same; else higher is better, and compares hits of one answer only'),
    user_prompt: z.string().describe('what the trace began with'),
    snippet: z.string().describe('where the passage begins that is nearest to the query, or what the words are in'),
    model: z.string().describe('that answered in this span'),
    started_at: z.string().openapi({ format: 'date-time' }),
    kind: z.string().optional().describe('of the span; of text and hybrid'),
    name: z.string().optional().describe('of the span, such as that of a tool; of text and hybrid'),
    matches: z
      .array(Match)
      .optional()
      .describe('where the words are; empty: found by meaning alone; of text and hybrid'),
    ranks: z
      .object({ text: z.int().optional(), vector: z.int().optional() })
      .optional()
      .describe('from 1, in each ranking that has it; of hybrid'),
  })
  .openapi('SpanHit', { examples: [hitExample] });
export type SpanHit = z.infer<typeof SpanHit>;

export const SpanHits = z
  .object({
    query: z.string(),
    results: z.array(SpanHit).describe('the nearest first'),
    count: z.int(),
    coverage: z
      .object({
        embedded: z.int().describe('calls of the main conversation that can be found, or that have no text'),
        pending: z.int().describe('that are still to be embedded'),
        failed: z.int(),
      })
      .optional()
      .describe('how far embedding has come; absent where another process embeds, whose status knows'),
    text_coverage: z
      .object({ spans: z.int(), indexed: z.int() })
      .optional()
      .describe('how many spans the index of words has; of text and hybrid'),
    missing: z
      .literal('vector')
      .optional()
      .describe('of hybrid: there is no embedder now, so that words alone were looked for'),
  })
  .openapi('SpanHits', {
    examples: [
      { query: QUESTION, results: [hitExample], count: 1, coverage: { embedded: 1197, pending: 7, failed: 0 } },
    ],
  });

export type SpanHits = z.infer<typeof SpanHits>;

const Failed = z.object({
  session_id: z.uuid(),
  trace_id: z.uuid(),
  span_id: z.uuid(),
  reason: z.string(),
  attempts: z.int(),
  last_failed_at: z.string().openapi({ format: 'date-time' }),
  retry_at: z
    .string()
    .nullable()
    .openapi({ format: 'date-time' })
    .describe('null: not before the text of the span or the model changes'),
});

export const SearchStatus = z
  .object({
    model: z.string().describe('provider and model that embed now'),
    spans: z.int().describe('calls of the main conversation'),
    embedded: z.int(),
    shortened: z.int().describe('of the embedded, those so long that only their beginning is found'),
    empty: z.int().describe('without text: tools were called, or there was no answer'),
    failed: z.int(),
    pending: z.int().describe('new or changed since'),
    chunks: z.int().describe('vectors of this model'),
    other_models: z
      .array(z.string())
      .describe('whose vectors are still stored, until this model has its own of every span'),
    failures: z.array(Failed).describe('the last twenty'),
  })
  .openapi('SearchStatus', {
    examples: [
      {
        ...{
          model: 'local/all-MiniLM-L6-v2',
          spans: 1204,
          embedded: 1100,
          shortened: 0,
          empty: 97,
          failed: 0,
          pending: 7,
        },
        ...{ chunks: 2380, other_models: [], failures: [] },
      },
    ],
  });
export type SearchStatus = z.infer<typeof SearchStatus>;
