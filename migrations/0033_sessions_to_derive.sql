-- How many sessions wait for derivation, for the background work of cassettes, which takes the same cores. Sessions that newer rules
-- derive again are left out, since that takes long and is no hurry, and so are those that failed and are tried again later or no more.
-- The count is read once a statement, and only by one that names the column.
create or replace view svc_v1.session_changes as
select c.session_id, c.changed_by, c.changed_at, pg_snapshot_xmin(pg_current_snapshot()) as settled_before,
       (select count(*) from svc.derive_queue q
         where q.parked_at is null and q.try_after > '-infinity' and q.try_after <= now())::integer as sessions_to_derive
  from svc.session_changes c;

comment on column svc_v1.session_changes.sessions_to_derive is
  'The same in every row: how many sessions have something new that is not derived yet. While it is high, let background work wait';
