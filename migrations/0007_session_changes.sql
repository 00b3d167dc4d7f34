-- What changed, for whoever reads along: one row per session, rewritten by every transaction after which the session reads
-- differently or is gone. A reader keeps a snapshot and asks for the rows whose transaction that snapshot does not see: however
-- transactions overlap, each change is told, and told once.
create table svc.session_changes (
  session_id uuid primary key,
  changed_by xid8 not null default pg_current_xact_id(),
  changed_at timestamptz not null default now(),
  turn_count integer not null default 0 -- of the session, when derivation last changed it
);
create index session_changes_order on svc.session_changes (changed_by, session_id);

insert into svc.session_changes (session_id, turn_count)
select session_id, turn_count from svc.sessions;
