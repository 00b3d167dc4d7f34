-- Partitions by time, on a server whose settings ask for them (core/db/partition). All others have partition 0 alone, in plain tables.

-- The partition in which new turns, slices and sessions are stored: the default of their columns, which changes with it. A session's nodes
-- and spans are in the partition of the session. A slice that turns of two partitions refer to is stored in each of them.
alter table svc.installation add column partition_no smallint not null default 0;
alter table svc.sessions add column partition_no smallint not null default 0;
alter table svc.raw_turns add column partition_no smallint not null default 0;
alter table svc.slices add column partition_no smallint not null default 0;
alter table svc.nodes add column partition_no smallint not null default 0;
alter table svc.spans add column partition_no smallint not null default 0;

-- How many rows all partitions had when statistics of the whole tables were last taken. (core/db/partition/partitions.ts)
alter table svc.installation add column analyzed_rows bigint not null default 0;

-- Empty where the tables are not partitioned.
create table svc.partitions (
  partition_no smallint primary key,       -- -1: of sessions that stay when their partition is dropped; 0: what was stored before there were any
  began_at     timestamptz,
  ended_at     timestamptz,                -- null: rows are stored in it now, and always in -1
  leaving      text                        -- the setting of retention by which it is being dropped
);

-- As before, with the partitions of a table.
create or replace function svc.table_bytes(of_table regclass) returns bigint
language plpgsql volatile
as $$
declare
  bytes bigint;
  elsewhere bigint;
begin
  select pg_total_relation_size(of_table) + coalesce(sum(pg_total_relation_size(relid)), 0) into bytes
    from pg_partition_tree(of_table) where relid <> of_table;
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select citus_total_relation_size(logicalrelid) from pg_catalog.pg_dist_partition where logicalrelid = $1'
       into elsewhere using of_table;
  end if;
  return bytes + coalesce(elsewhere, 0);
end $$;
