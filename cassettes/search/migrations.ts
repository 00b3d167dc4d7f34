/** The tables of embeddings: one row a chunk, beside one row a span that says what was embedded of it, or why nothing was. */
import type { Migration } from '../../core/cassette/contract.ts';

/** The dimensions of common models: their vectors are found through an index, those of other lengths by comparing each. */
export const INDEXED_DIMENSIONS = [256, 384, 512, 768, 1024, 1536] as const;
/** Too long for an index over 32-bit floats, so this one is over 16-bit floats. */
export const HALF_DIMENSIONS = [3072] as const;

const tables = `
create table embedded_spans (
  model           text not null,        -- provider and model, and the dimensions where they were chosen
  trace_id        uuid not null,
  span_id         uuid not null,
  session_id      uuid not null,
  fingerprint     text not null,        -- of the span; another one: its text is looked at again
  content_hash    text not null,        -- of its text; another one: it is embedded again
  state           text not null check (state in ('embedded', 'empty', 'failed')),
  chunks          integer not null,
  attempts        integer not null default 0,
  reason          text,                 -- of a failure
  last_failed_at  timestamptz,
  retry_at        timestamptz,          -- null: not before its text or the model changes
  primary key (model, trace_id, span_id)
);
create table span_embeddings (
  model        text not null,
  trace_id     uuid not null,
  span_id      uuid not null,
  chunk        integer not null,
  dimensions   integer not null,
  snippet      text not null,
  embedded_at  timestamptz not null default now(),
  embedding    vector not null check (vector_dims(embedding) = dimensions),
  primary key (trace_id, span_id, chunk, model), -- model last: by it alone the planner has to take the index of vectors
  foreign key (model, trace_id, span_id) references embedded_spans on delete cascade
);`;

const index = (type: 'vector' | 'halfvec') => (dimensions: number) =>
  `
create index span_embeddings_${dimensions} on span_embeddings
 using hnsw ((embedding::${type}(${dimensions})) ${type}_cosine_ops) where dimensions = ${dimensions};`;

export const migrations: readonly Migration[] = [
  {
    name: '0001_embeddings',
    sql: [tables, ...INDEXED_DIMENSIONS.map(index('vector')), ...HALF_DIMENSIONS.map(index('halfvec'))].join(''),
  },
  {
    name: '0002_shortened_spans',
    sql: 'alter table embedded_spans add column shortened boolean not null default false;', // only the beginning is embedded
  },
  {
    // Entries of changed sessions, failed ones, and counts, without a look at every row.
    name: '0003_entries_by_session',
    sql: `
create index embedded_spans_session on embedded_spans (session_id);
create index embedded_spans_failed on embedded_spans (model, retry_at) where state = 'failed';`,
  },
];
