-- Breaks of the prompt cache, found behind derivation from the prompts of each session. What is planned (a first call, a compaction,
-- another model) is not kept. Removed with its session; not in backups, since it is found again.
create table svc.cache_breaks (
  session_id       uuid not null,
  raw_turn_id      bigint not null,
  at               timestamptz not null,
  model            text not null,
  cause            text not null,
  rewritten_tokens bigint not null,
  lost_usd         numeric,                  -- null: the call has no price
  break            jsonb not null,           -- as the read API shows it; it quotes the prompts
  primary key (session_id, raw_turn_id)
);
create index cache_breaks_at on svc.cache_breaks (at, session_id, raw_turn_id);

-- Which sessions were looked at, and in which state: that of their row in svc.session_changes.
create table svc.cache_reviews (
  session_id  uuid primary key,
  changed_by  xid8 not null,
  rules       integer not null,              -- the version of the rules (core/prompt/rules-version.ts)
  reviewed_at timestamptz not null default now()
);
