-- Every call counts once, in the session in which it was made, wherever it is recorded. (core/derive/call-key.ts)

alter table svc.calls add column call_key bytea;          -- what names the call everywhere; null: nothing does
create index calls_call_key on svc.calls (call_key) where call_key is not null;

-- The calls that a session's transcripts hold, and in which session each counts: in that of the wire where it came over the wire,
-- else in that whose file claims it best. A row is written when the session first claims the call; only the owner changes later.
create table svc.transcript_claims (
  session_id       uuid not null,
  call_key         bytea not null,
  call_id          text not null,                         -- in this session
  is_own           boolean not null,                      -- the file says that its own session made the call
  file_ended_at    timestamptz not null,                  -- when the file was first seen with the call, its latest record: a copy ends later
  owner_session_id uuid,                                  -- where it counts; null until that is settled
  owner_call_id    text not null default '',              -- the same call there; '' of one over the wire
  owner_turn_id    bigint,                                -- of one over the wire
  primary key (session_id, call_key)
);
create index transcript_claims_by_call on svc.transcript_claims (call_key);

-- How often the owners of a session's claims have changed: what was read of its transcripts before the last change is to be read again.
create table svc.transcript_claim_marks (
  session_id uuid primary key,
  mark       bigint not null
);
alter table svc.transcript_readings add column claim_mark bigint not null default 0; -- as of the reading

-- What a session shows of other sessions' calls.
alter table svc.session_rollups
  add column fork_of_session_id uuid,                     -- where the history was made that a transcript brings along
  add column inherited_calls    integer not null default 0,
  add column inherited_cost_usd numeric;                  -- null: none of them has a price
alter table svc.spans add column inherited_from uuid;     -- the session in which the call counts; null: it was made here

create index session_rollups_fork_of on svc.session_rollups (fork_of_session_id) where fork_of_session_id is not null;

-- As before, and: the first call that a session made itself goes on from the last one that a transcript brought along, where that counts.
create or replace view svc.fork_links as
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
      where e.session_id in (f.session_id, f.fork_of_session_id) and e.deleted_at is not null)
union all
select r.session_id, r.fork_of_session_id, 'fork-of', a.trace_id, a.span_id, '', b.trace_id, b.span_id, ''
  from svc.session_rollups r
 cross join lateral (
   select p.trace_id, p.span_id
     from svc.spans p
    where p.session_id = r.session_id and p.kind = 'llm' and p.call_kind = 'main' and p.thread_id = '' and p.inherited_from is null
    order by p.started_at, p.span_id
    limit 1) a
 cross join lateral (
   select p.call_id
     from svc.spans p
    where p.session_id = r.session_id and p.kind = 'llm' and p.thread_id = '' and p.inherited_from = r.fork_of_session_id
    order by p.started_at desc, p.span_id desc
    limit 1) h
  join svc.transcript_claims c
    on c.session_id = r.session_id and c.call_id = h.call_id and c.owner_session_id = r.fork_of_session_id
  join svc.spans b on b.session_id = c.owner_session_id and b.kind = 'llm' and b.call_id = c.owner_call_id
                  and (c.owner_turn_id is null or b.raw_turn_id = c.owner_turn_id)
 where r.fork_of_session_id is not null and r.fork_of_session_id <> r.session_id
   and not exists (select from svc.sessions f where f.session_id = r.session_id and f.fork_of_session_id is not null)
   and not exists (
     select 1 from svc.session_edits e
      where e.session_id in (r.session_id, r.fork_of_session_id) and e.deleted_at is not null);
