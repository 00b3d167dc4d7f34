-- When somebody last read a session that is behind: it is derived before the others. (core/db/derive/derive-queue.ts)
alter table svc.derive_queue add column looked_at timestamptz;
create index derive_queue_looked on svc.derive_queue (looked_at) where looked_at is not null;

-- Many sessions are stored and derived by one statement: their totals are kept by one as well, not by one for each row.
drop trigger sessions_totals on svc.sessions;
drop trigger session_rollups_totals on svc.session_rollups;
drop function svc.keep_totals();

create function svc.keep_totals() returns trigger language plpgsql as $$
begin
  insert into svc.session_totals as t (session_id, turn_count, total_tokens, total_cost)
  select c.session_id, c.turn_count, c.total_tokens, c.total_cost
    from (select distinct session_id from changed) k
   cross join lateral (select * from svc.current_totals o where o.session_id = k.session_id offset 0) c -- found by key
   order by c.session_id
  on conflict (session_id) do update
     set turn_count = excluded.turn_count, total_tokens = excluded.total_tokens, total_cost = excluded.total_cost
   where (t.turn_count, t.total_tokens, t.total_cost)
         is distinct from (excluded.turn_count, excluded.total_tokens, excluded.total_cost);
  return null;
end $$;
create trigger sessions_totals after insert on svc.sessions
  referencing new table as changed for each statement execute function svc.keep_totals();
create trigger session_rollups_totals_added after insert on svc.session_rollups
  referencing new table as changed for each statement execute function svc.keep_totals();
create trigger session_rollups_totals_changed after update on svc.session_rollups
  referencing new table as changed for each statement execute function svc.keep_totals();
create trigger session_rollups_totals_removed after delete on svc.session_rollups
  referencing old table as changed for each statement execute function svc.keep_totals();
