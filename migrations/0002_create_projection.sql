-- The projection: everything here can be deleted and is derived again from the capture log, byte for byte.

-- A raw turn as the latest correction attributes it.
create view svc.effective_turns as
select t.raw_turn_id,
       coalesce(c.session_id, t.session_id) as session_id,
       t.session_seq,
       coalesce(c.thread_id, t.thread_id) as thread_id,
       case when c.raw_turn_id is null then t.parent_harness_session_id else c.parent_harness_session_id end
         as parent_harness_session_id,
       c.correction_id
  from svc.raw_turns t
  left join lateral (
    select k.raw_turn_id, k.session_id, k.thread_id, k.parent_harness_session_id, k.correction_id
      from svc.raw_turn_corrections k
     where k.raw_turn_id = t.raw_turn_id
     order by k.correction_id desc
     limit 1
  ) c on true;

-- What a wire format read in a raw turn: where its messages hang in the DAG, and what was asked.
create table svc.calls (
  raw_turn_id bigint primary key,
  session_id  uuid not null,
  tip_hash    bytea,                 -- the last message of the request that is not injected; null: unreadable
  leaf_hash   bytea,                 -- the answer; null: none that can be read
  model       text not null default '',
  stream      boolean not null default false,
  max_tokens  integer,
  tool_count  integer not null default 0
);
create index calls_session on svc.calls (session_id);

-- The Merkle DAG: one node per distinct message of a session, the answer as leaf. (Seed, 'Bucket'; reference section 5.)
-- Attributes come from the call with the lowest (requested_at, call_id) that holds the message.
create table svc.nodes (
  session_id          uuid not null,
  node_hash           bytea not null,
  parent_hash         bytea,                 -- null: a root
  raw_turn_id         bigint not null,       -- the call that showed it first
  call_id             text not null,
  slice_id            bytea,                 -- the message as sent; null: the answer of raw_turn_id
  position            integer not null,      -- place among the messages of that call, 0 first
  depth               integer not null,      -- distance from the root
  type                text not null default 'message',
  role                text not null,
  injected            text not null default '', -- the kind of whole-message context a harness inserts; '' for conversation
  model               text not null,
  provider            text not null,
  agent_name          text not null,
  project             text not null,
  stop_reason         text not null default '',
  input_tokens        bigint not null default 0,
  output_tokens       bigint not null default 0,
  cache_read_tokens   bigint not null default 0,
  cache_write_5m_tokens bigint not null default 0,
  cache_write_1h_tokens bigint not null default 0,
  reasoning_tokens    bigint not null default 0,
  tool_calls          integer not null default 0,
  is_root             boolean not null,
  is_head             boolean not null,      -- no node of the conversation follows
  requested_at        timestamptz not null,  -- of the call that showed it first: orders the attributes
  created_at          timestamptz not null,  -- that instant, or for an answer its last byte
  primary key (session_id, node_hash)
);
create index nodes_hash on svc.nodes (node_hash);
create index nodes_raw_turn on svc.nodes (raw_turn_id);
create index nodes_parent on svc.nodes (session_id, parent_hash);

-- Sessions whose projection is behind their turns.
create table svc.derive_queue (
  session_id   uuid primary key,
  dirtied_at   timestamptz not null default now(),
  mark         bigint not null default 1,    -- grows with every mark: a turn that comes in meanwhile keeps the session queued
  from_scratch boolean not null default false,
  leased_until timestamptz,
  lease_token  uuid,
  attempts     integer not null default 0,
  try_after    timestamptz not null default now(),
  error        text,                         -- of the last attempt
  parked_at    timestamptz
);
create index derive_queue_next on svc.derive_queue (try_after) where parked_at is null;

-- The fold's memory: the newest state of a session, and some as they were on the way, to which a call that comes late goes back.
create table svc.derive_states (
  session_id      uuid not null,
  opened_at       timestamptz not null,      -- requested_at of the call the state is about to meet; 'infinity': the newest
  opened_call_id  text not null,             -- its call id
  folded_turns    integer not null,          -- calls folded so far; of the newest: the highest session_seq among them
  state           jsonb not null,
  primary key (session_id, opened_at, opened_call_id)
);

create table svc.session_rollups (
  session_id         uuid primary key,
  derive_version     integer not null,       -- of the rules that made it: an upgrade derives again
  parent_session_id  uuid,
  name               text,
  cwd                text,
  harness_version    text,
  harness_metadata   jsonb,
  agent_name         text not null default '',
  project            text not null default '',
  status             text not null default 'unknown' check (status in ('completed', 'failed', 'abandoned', 'unknown')),
  title              text,
  preview            text,
  model              text not null default '',
  trace_count        integer not null default 0,
  input_tokens       bigint not null default 0,
  output_tokens      bigint not null default 0,
  cache_read_tokens  bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  reasoning_tokens   bigint not null default 0,
  cost_usd           numeric not null default 0,      -- of the priced calls
  unpriced_models    text[] not null default '{}',
  model_usage        jsonb not null default '[]',     -- a row per (model, price row)
  kind_counts        jsonb not null default '{}',
  tool_result_count  integer not null default 0,
  tool_error_count   integer not null default 0,
  tasks              jsonb not null default '[]',
  has_git_activity   boolean not null default false
);

create table svc.traces (
  trace_id           uuid primary key,       -- v5 of the opening call's identity
  session_id         uuid not null,
  source             text not null default 'wire' check (source in ('wire', 'transcript')),
  synthetic          text not null default '',
  status             text not null default 'ok' check (status in ('ok', 'error', 'partial')),
  user_prompt        text not null default '',
  response_preview   text not null default '',
  started_at         timestamptz not null,
  ended_at           timestamptz,
  duration_ns        bigint,
  span_count         integer not null default 0,
  tool_calls         integer not null default 0,
  input_tokens       bigint not null default 0,
  output_tokens      bigint not null default 0,
  main_input_tokens  bigint not null default 0,
  main_output_tokens bigint not null default 0,
  cache_read_tokens  bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  reasoning_tokens   bigint not null default 0,
  cost_usd           numeric,                -- null: none of its calls has a price
  unpriced_models    text[] not null default '{}'
);
create index traces_session on svc.traces (session_id, started_at, trace_id);
create index traces_started_at on svc.traces (started_at desc, trace_id desc);

create table svc.spans (
  trace_id               uuid not null references svc.traces on delete cascade,
  span_id                uuid not null,      -- v5 of the wire identity
  session_id             uuid not null,
  parent_span_id         uuid,
  seq                    integer not null,   -- place in the trace, 0 first
  kind                   text not null check (kind in ('agent', 'llm', 'tool', 'event')),
  call_kind              text not null default '',
  name                   text not null,
  thread_id              text not null default '',
  status                 text not null default 'ok' check (status in ('ok', 'error', 'partial')),
  error_type             text not null default '',
  model                  text not null default '',
  provider               text not null default '',
  stop_reason            text not null default '',
  external_id            text not null default '', -- the provider's own id of the answer or the tool call
  started_at             timestamptz not null,
  first_byte_at          timestamptz,
  ended_at               timestamptz,
  duration_ns            bigint,
  input                  jsonb not null default '[]',
  output                 jsonb not null default '[]',
  verdict                jsonb,
  input_tokens           bigint not null default 0,
  output_tokens          bigint not null default 0,
  cache_read_tokens      bigint not null default 0,
  cache_write_5m_tokens  bigint not null default 0,
  cache_write_1h_tokens  bigint not null default 0,
  reasoning_tokens       bigint not null default 0,
  usage_verbatim         jsonb,
  cost_usd               numeric,            -- null: not priced
  price                  jsonb,              -- {model, source, date}: the price row that was used
  raw_turn_id            bigint,
  node_hash              bytea,
  primary key (trace_id, span_id)
);
create index spans_session on svc.spans (session_id, started_at);
create index spans_order on svc.spans (trace_id, seq);
create index spans_raw_turn on svc.spans (raw_turn_id);

create table svc.span_links (
  session_id    uuid not null,
  kind          text not null check (kind in
                  ('emits', 'feeds', 'rejoin', 'verdict', 'compaction-seam', 'retry-of', 'fork-of')),
  from_trace_id uuid not null references svc.traces on delete cascade,
  from_span_id  uuid not null,
  from_io       text not null default '',
  to_trace_id   uuid not null references svc.traces on delete cascade,
  to_span_id    uuid not null,
  to_io         text not null default '',
  primary key (from_trace_id, from_span_id, to_trace_id, to_span_id, kind)
);
create index span_links_to on svc.span_links (to_trace_id);
create index span_links_session on svc.span_links (session_id);
