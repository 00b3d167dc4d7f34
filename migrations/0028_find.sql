-- Finding text across sessions. Filled behind derivation (core/engine/find); everything here can be deleted and is made again.
-- The terms of a text are numbers that svc makes (core/find/terms.ts): its words, the parts of identifiers, and of each word the runs of
-- three characters, of Chinese, Japanese and Korean pairs. So no extension is needed, no locale of the database matters, and the index
-- holds no text. Terms are never read back, but by the index when rows are added: they are stored apart, or each row would fill a page.
create table svc.found_texts (
  session_id uuid not null,
  trace_id   uuid not null,
  span_id    uuid not null,
  place      text not null check (place in ('conversation', 'tools', 'thinking')),
  piece      smallint not null,          -- of a long text; 0 first
  at         timestamptz not null,       -- when the span began
  terms      smallint[] not null
) with (toast_tuple_target = 128);
alter table svc.found_texts alter column terms set storage external;
alter table svc.found_texts alter column terms set statistics 0; -- so that the index is used for frequent terms too
create index found_texts_span on svc.found_texts (session_id, span_id);
-- New terms wait in a list that every search reads whole: it is kept short.
create index found_texts_terms on svc.found_texts using gin (terms) with (gin_pending_list_limit = 512);

-- System prompts and definitions of tools, in pieces, each distinct one once: calls repeat them.
create table svc.found_prompts (
  piece_id bytea primary key,            -- the text's SHA-256
  text     text not null,
  terms    smallint[] not null
) with (toast_tuple_target = 128);
alter table svc.found_prompts alter column terms set storage external;
alter table svc.found_prompts alter column terms set statistics 0;
create index found_prompts_terms on svc.found_prompts using gin (terms) with (gin_pending_list_limit = 512);

-- The first call of a session that holds a piece.
create table svc.found_prompt_uses (
  session_id  uuid not null,
  piece_id    bytea not null references svc.found_prompts on delete cascade,
  trace_id    uuid not null,
  span_id     uuid not null,
  raw_turn_id bigint not null,
  block       integer not null,          -- of the context of that call
  start       integer not null,          -- of the piece within the block's text, in UTF-16 units
  at          timestamptz not null,
  primary key (session_id, piece_id)
);
create index found_prompt_uses_piece on svc.found_prompt_uses (piece_id);

-- How far a session is in the index: its spans up to this key are, in the order of their revisions.
create table svc.found_sessions (
  session_id uuid primary key,
  version    integer not null,           -- of the terms: other ones are made again
  rev        bigint not null,
  trace_id   uuid not null,
  span_id    uuid not null
);
