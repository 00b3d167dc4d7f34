-- What a database that is distributed over several servers needs, so that one server runs the same statements.

-- Tables to be joined with those that are not distributed. Such a statement reads them here, and the views read a distributed table over
-- another connection, without what the statement's own transaction has written.
create view svc.all_spans as select * from svc.spans;
create view svc.all_traces as select * from svc.traces;
create view svc.all_slices as select * from svc.slices;

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
