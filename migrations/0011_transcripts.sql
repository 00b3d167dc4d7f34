-- Transcripts in the projection, and what calls are for.
alter table svc.calls
  add column kind   text not null default 'main',   -- core/model/call-kind.ts
  add column judged text not null default '';       -- the action that a permission check judges

-- What a session's transcripts say, as last read: derivation looks here and not into the files, unless there are newer ones.
create table svc.transcript_readings (
  session_id   uuid primary key,
  read_up_to   bigint not null,      -- the highest raw_turn_id of a transcript that was looked at
  read_version integer not null,     -- of the rules: derive/version.ts
  projected    boolean not null,     -- whether its calls stand in the projection: no main call came over the wire
  evidence     jsonb not null,       -- core/derive/evidence.ts
  report       jsonb not null        -- model/derive-report.ts, `transcript_projection` and `reconcile`
);

-- The calls of transcripts that stand in the projection, so that a new reading is folded from where it differs.
create table svc.transcript_calls (
  session_id   uuid not null,
  requested_at timestamptz not null,
  call_id      text not null,
  raw_turn_id  bigint not null,      -- of the transcript
  digest       bytea not null,       -- of what the fold was given
  primary key (session_id, call_id)
);

-- Which call of a transcript made a span: the raw turn is the whole file. '' of a call that came over the wire.
alter table svc.spans add column call_id text not null default '';

create index raw_turns_transcripts on svc.raw_turns (session_id, raw_turn_id) where source = 'transcript';

-- Corrections move turns. A session whose last one was moved away is told nowhere until it has one again: its row stays, since the
-- turns' own rows name it.
alter table svc.sessions
  add column moved_turns integer not null default 0,     -- that corrections brought here, less those that they took away
  add column emptied     boolean not null default false, -- nothing was left of it, and what was derived of it is gone
  add column is_empty    boolean not null generated always as (emptied and turn_count + moved_turns = 0) stored;

create or replace view svc_v1.sessions as
select s.session_id as id, s.auth_subject, s.harness_id, s.harness_session_id, r.name, r.cwd, r.harness_version,
       r.parent_session_id, s.started_at, s.last_seen_at, s.ended_at, r.harness_metadata,
       coalesce(r.input_tokens, 0) as total_input_tokens, coalesce(r.output_tokens, 0) as total_output_tokens,
       coalesce(r.cost_usd, 0) as total_cost_usd, coalesce(r.trace_count, 0) as turn_count,
       coalesce(r.status, 'unknown') as derived_status, coalesce(r.has_git_activity, false) as has_git_activity,
       coalesce(r.tool_result_count, 0) as tool_result_count, coalesce(r.tool_error_count, 0) as tool_error_count,
       r.title as derived_title, coalesce(r.model, '') as derived_model, r.model_usage,
       coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0) as total_tokens,
       (extract(epoch from s.last_seen_at - s.started_at) * 1000000000)::bigint as duration_ns,
       r.tasks, r.kind_counts, e.display_name
  from svc.sessions s
  left join svc.session_rollups r on r.session_id = s.session_id
  left join svc.session_edits e on e.session_id = s.session_id
 where e.deleted_at is null and not s.is_empty;

-- A conversation that goes on from within another: its first call, and the call that showed that message first. Found when it
-- is read, so that deriving either session anew loses nothing; not there where either is deleted.
create index sessions_fork_of on svc.sessions (fork_of_session_id) where fork_of_session_id is not null;
create view svc.fork_links as
select f.session_id, f.fork_of_session_id as origin_session_id, 'fork-of'::text as kind,
       a.trace_id as from_trace_id, a.span_id as from_span_id, ''::text as from_io,
       b.trace_id as to_trace_id, b.span_id as to_span_id, ''::text as to_io
  from svc.sessions f
 cross join lateral (
   select p.trace_id, p.span_id
     from svc.spans p
    where p.session_id = f.session_id and p.kind = 'llm' and p.call_kind = 'main'
    order by p.started_at, p.span_id
    limit 1) a
  join svc.nodes n on n.session_id = f.fork_of_session_id and n.node_hash = f.fork_of_node_hash
  join svc.spans b on b.raw_turn_id = n.raw_turn_id and b.session_id = n.session_id and b.kind = 'llm'
 where f.fork_of_session_id is not null and f.fork_of_session_id <> f.session_id
   and not exists (
     select 1 from svc.session_edits e
      where e.session_id in (f.session_id, f.fork_of_session_id) and e.deleted_at is not null);

create or replace view svc_v1.span_links as
select l.from_trace_id, l.from_span_id, l.from_io, l.to_trace_id, l.to_span_id, l.to_io, l.kind, l.session_id
  from svc.span_links l
 where not exists (select 1 from svc.session_edits e where e.session_id = l.session_id and e.deleted_at is not null)
union all
select k.from_trace_id, k.from_span_id, k.from_io, k.to_trace_id, k.to_span_id, k.to_io, k.kind, k.session_id
  from svc.fork_links k;
