-- What a database that is distributed over several servers needs, so that one server runs the same statements.

-- Tables to be joined with those that are not distributed. Such a statement reads them here, and the views read a distributed table over
-- another connection, without what the statement's own transaction has written.
create view svc.all_spans as select * from svc.spans;
create view svc.all_traces as select * from svc.traces;
create view svc.all_slices as select * from svc.slices;

-- As before, but each fork asks for the spans that it goes on from by its own keys ('offset 0' keeps the planner from joining all of them):
-- over another connection a join would read every span there is.
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
 cross join lateral (
   select p.trace_id, p.span_id
     from svc.spans p
    where p.session_id = n.session_id and p.raw_turn_id = n.raw_turn_id and p.kind = 'llm'
   offset 0) b
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
 cross join lateral (
   select p.trace_id, p.span_id
     from svc.spans p
    where p.session_id = c.owner_session_id and p.call_id = c.owner_call_id and p.kind = 'llm'
      and (c.owner_turn_id is null or p.raw_turn_id = c.owner_turn_id)
   offset 0) b
 where r.fork_of_session_id is not null and r.fork_of_session_id <> r.session_id
   and not exists (select 1 from svc.sessions f where f.session_id = r.session_id and f.fork_of_session_id is not null)
   and not exists (
     select 1 from svc.session_edits e
      where e.session_id in (r.session_id, r.fork_of_session_id) and e.deleted_at is not null);

-- The bytes of a table with its indexes, on all servers that have rows of it.
create function svc.table_bytes(of_table regclass) returns bigint
language plpgsql volatile
as $$
declare
  bytes bigint := pg_total_relation_size(of_table);
  elsewhere bigint;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select citus_total_relation_size(logicalrelid) from pg_catalog.pg_dist_partition where logicalrelid = $1'
       into elsewhere using of_table;
  end if;
  return bytes + coalesce(elsewhere, 0);
end $$;

-- The bytes of the database, and of the service's tables on other servers.
create function svc.database_bytes() returns bigint
language plpgsql volatile
as $$
declare
  bytes bigint := pg_database_size(current_database());
  elsewhere bigint;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute $sum$
      select sum(citus_total_relation_size(p.logicalrelid))
        from pg_catalog.pg_dist_partition p
        join pg_catalog.pg_class c on c.oid = p.logicalrelid
       where c.relnamespace = 'svc'::regnamespace$sum$ into elsewhere;
  end if;
  return bytes + coalesce(elsewhere, 0);
end $$;
