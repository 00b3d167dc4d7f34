-- Which sessions changed, for cassettes that compare their own tables with what is stored. A deleted session has its row too.
-- All transactions below `settled_before` have ended: who remembers it reads next time the rows from there on, and misses none,
-- however late a transaction commits.
create view svc_v1.session_changes as
select c.session_id, c.changed_by, c.changed_at, pg_snapshot_xmin(pg_current_snapshot()) as settled_before
  from svc.session_changes c;

comment on view svc_v1.session_changes is
  'One row a session that ever changed, deleted ones included. Keep the settled_before of a read, and read the rows with changed_by >= that value next time: some may be known already, none is missed';
