-- The capture log: what came over the wire, never edited. All that the read API serves can be rebuilt from these tables.
create schema svc;

-- One row. The key under which client credentials are hashed, so that sessions can be told apart and no credential is kept.
create table svc.installation (
  singleton    boolean primary key default true check (singleton),
  identity_key bytea not null,
  created_at   timestamptz not null default now()
);
insert into svc.installation (identity_key)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- How far intake has read each run's journal. Written with the turns themselves, so that a journal read again after a crash
-- neither stores nor counts anything twice.
create table svc.journals (
  run_id      uuid primary key,
  segment     integer not null,      -- number of the segment file of the last call taken in
  byte_offset bigint  not null,      -- end of that call's last record in the segment
  finished    boolean not null default false,
  updated_at  timestamptz not null default now()
);

-- Content-addressed pieces of bodies, each distinct piece once. Recipes are slices too: up to 64 ids of 32 bytes in a row.
create table svc.slices (
  slice_id   bytea primary key check (length(slice_id) = 32),  -- SHA-256 of the piece itself, uncompressed
  codec      smallint not null check (codec in (0, 1)),        -- 0 as it is, 1 brotli
  size_bytes integer not null check (size_bytes >= 0),         -- uncompressed
  bytes      bytea not null
);
alter table svc.slices alter column bytes set storage external; -- compressed already

-- Sessions as intake knows them: who, since when, and the turn chain. What derivation adds stands in svc.session_rollups.
create table svc.sessions (
  session_id                uuid primary key,        -- v5 of (harness_id, harness_session_id)
  harness_id                text not null,
  harness_session_id        text not null,           -- the opening request's id when no harness names the session
  client_key                bytea not null,          -- keyed hash of credential, user agent and project
  auth_subject              text not null default '',
  parent_harness_session_id text,
  fork_of_session_id        uuid,                    -- the conversation whose inner node this one continues
  fork_of_node_hash         bytea,
  started_at                timestamptz not null,
  last_seen_at              timestamptz not null,
  ended_at                  timestamptz,
  turn_count                integer not null default 0, -- length of the turn chain
  head_turn_hash            bytea,                      -- its last hash
  unique (harness_id, harness_session_id)
);
create index sessions_last_seen_at on svc.sessions (last_seen_at desc, session_id desc);
create index sessions_client_key on svc.sessions (client_key, started_at desc);

create table svc.raw_turns (
  raw_turn_id               bigint generated always as identity primary key,
  source                    text not null check (source in ('wire', 'transcript')),
  svc_proxy_request_id      text unique,             -- given by the proxy; null for what did not pass it
  request_id                text unique,             -- given by the sender of an ingested turn; null: no dedupe
  session_id                uuid not null references svc.sessions,
  session_seq               integer not null,        -- 1, 2, 3 … within the session, in the order of intake
  prev_hash                 bytea,                   -- the turn before in this session; null for the first
  turn_hash                 bytea not null,
  outcome                   text not null,           -- core/model/coverage.ts
  ending                    text not null,
  provider                  text not null,
  format                    text not null default '',
  method                    text not null default '',
  url                       text not null default '', -- path and query as sent, credentials replaced
  status                    integer,                  -- null: no answer came
  harness_id                text not null,
  harness_session_id        text not null,
  thread_id                 text not null default '',
  parent_harness_session_id text,
  identity                  jsonb not null,           -- core/model/identity.ts, as read from the request
  requested_at              timestamptz not null,     -- first byte of the request
  first_byte_at             timestamptz,              -- head of the answer
  last_byte_at              timestamptz,              -- last byte of the answer
  request_header_template   bytea,                    -- slice: names in order, and the values that seldom change
  request_header_values     text[] not null default '{}', -- the values that the template leaves open, in order
  response_header_template  bytea,
  response_header_values    text[] not null default '{}',
  request_pages             bytea not null,           -- slice ids of the recipe's roots, 32 bytes each
  request_page_depth        smallint not null,        -- 0: these are pieces; 1: pages list pieces; 2: pages list pages; …
  request_bytes             bigint not null,          -- as they came, on the wire
  request_digest            bytea not null,           -- SHA-256 of those bytes
  response_slice            bytea,                    -- the answer's bytes as they came, still encoded; null: none
  response_bytes            bigint not null,
  response_digest           bytea,
  meta                      jsonb not null default '{}',
  received_at               timestamptz not null default now(),
  unique (session_id, session_seq)
);
create index raw_turns_requested_at on svc.raw_turns (session_id, requested_at);

-- Appended re-attributions; the newest of a raw turn counts.
create table svc.raw_turn_corrections (
  correction_id             bigint generated always as identity primary key,
  raw_turn_id               bigint not null references svc.raw_turns,
  kind                      text not null check (kind in ('repair', 'link')),
  session_id                uuid not null references svc.sessions,
  thread_id                 text not null default '',
  parent_harness_session_id text,
  reason                    text not null,
  created_at                timestamptz not null default now()
);
create index raw_turn_corrections_turn on svc.raw_turn_corrections (raw_turn_id, correction_id desc);
create index raw_turn_corrections_session on svc.raw_turn_corrections (session_id);

-- What was removed from the log on purpose, by whom asked, and why a verifier finds a gap.
create table svc.tombstones (
  tombstone_id bigint generated always as identity primary key,
  session_id   uuid not null,
  raw_turn_id  bigint,
  turn_hash    bytea,
  reason       text not null,
  created_at   timestamptz not null default now()
);

-- Append-only: a change is refused unless the transaction has declared an audited purge and left its tombstone.
create function svc.refuse_change() returns trigger language plpgsql as $$
begin
  if current_setting('svc.purge', true) is distinct from 'on' then
    raise exception 'Cannot % %.%: the capture log is append-only', lower(tg_op), tg_table_schema, tg_table_name
      using errcode = 'restrict_violation';
  end if;
  if tg_op = 'UPDATE' then
    return new;
  end if;
  return old;
end $$;
create trigger raw_turns_append_only before update or delete on svc.raw_turns
  for each row execute function svc.refuse_change();
create trigger raw_turns_no_truncate before truncate on svc.raw_turns
  for each statement execute function svc.refuse_change();
create trigger raw_turn_corrections_append_only before update or delete on svc.raw_turn_corrections
  for each row execute function svc.refuse_change();
create trigger raw_turn_corrections_no_truncate before truncate on svc.raw_turn_corrections
  for each statement execute function svc.refuse_change();

-- A turn that could not be stored, with its bytes and the reason; the rest of its batch went on.
create table svc.parked_turns (
  svc_proxy_request_id text primary key,
  reason               text not null,
  head                 jsonb not null,      -- core/capture/journal-format.ts, CallOpened
  request_body         bytea not null,
  response_body        bytea not null,
  parked_at            timestamptz not null default now()
);

-- One count per request that came in. (core/model/coverage.ts)
create table svc.coverage (
  day      date not null,
  provider text not null,
  outcome  text not null,
  requests bigint not null,
  primary key (day, provider, outcome)
);

-- What people edit. Outside the projection, so that a rebuild neither loses a name nor revives a deleted session.
create table svc.session_edits (
  session_id   uuid primary key,
  display_name text,
  starred_at   timestamptz,
  deleted_at   timestamptz,
  edited_at    timestamptz not null default now()
);
