/**
 * Distributes the large tables of a server over the workers of its Citus cluster (storage.distributed). The others stay on the coordinator,
 * which runs the same statements as a server by itself.
 */
import { sql as statement } from 'drizzle-orm';
import { OperatorError } from '../../errors.ts';
import { MIGRATION_LOCK } from '../migrate.ts';
import type { Sql } from '../sql.ts';
import { FOREIGN_SERVER, makeRemoteViews } from './remote-views.ts';

/** `with`: the table of the same group. */
type DistributedTable = { name: string; column: string; with: string };

/**
 * By columns that the keys hold. Tables of one group have their rows of one session on one worker, so that a session is read there.
 * Slices are shared by sessions, and are in a group of their own.
 */
const TABLES: readonly DistributedTable[] = [
  { name: 'svc.slices', column: 'slice_id', with: 'none' },
  { name: 'svc.traces', column: 'session_id', with: 'none' },
  { name: 'svc.spans', column: 'session_id', with: 'svc.traces' },
  { name: 'svc.span_links', column: 'session_id', with: 'svc.traces' },
  { name: 'svc.derive_states', column: 'session_id', with: 'svc.traces' },
];

/** The tables of which the coordinator has no rows. */
export const DISTRIBUTED: readonly string[] = TABLES.map(({ name }) => name);

/**
 * Distributes what is not distributed yet, each table in a transaction, after which the coordinator has none of its rows. A filled table is
 * copied to the workers, and is locked for that long. Any number of processes may do so at once.
 * @returns the tables distributed here
 */
export async function distribute(sql: Sql): Promise<string[]> {
  const distributed: string[] = [];
  for (const table of TABLES) {
    if (await locked(sql, (tx) => distributeTable(tx, table))) distributed.push(table.name);
  }
  await locked(sql, makeRemoteViews);
  return distributed;
}

/** After a migration, which may have made the views anew, by a process that does not know that the database is distributed. */
export async function mendViews(sql: Sql): Promise<void> {
  const [row] = await sql.rows<{ is_distributed: boolean }>(
    statement`select to_regclass('svc_remote.spans') is not null as is_distributed`,
  );
  if (row?.is_distributed) await locked(sql, makeRemoteViews);
}

const locked = <T>(sql: Sql, work: (tx: Sql) => Promise<T>): Promise<T> =>
  sql.transaction(async (tx) => {
    await tx.rows(statement`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    return work(tx);
  });

/**
 * A statement that writes rows of many sessions or slices runs on each shard, so that 32 shards, which Citus makes by itself, store half as
 * many turns as four. Each worker has this many: where workers are added, shards can be split.
 */
const SHARDS_OF_A_WORKER = 2;

async function distributeTable(tx: Sql, { name, column, with: colocated }: DistributedTable): Promise<boolean> {
  const [found] = await tx.rows(
    statement`select 1 as one from pg_catalog.pg_dist_partition where logicalrelid = ${name}::regclass`,
  );
  if (found) return false;
  const shards =
    colocated === 'none'
      ? statement`, shard_count => (
          select greatest(1, count(*))::integer * ${SHARDS_OF_A_WORKER} from citus_get_active_worker_nodes())`
      : statement``;
  await tx.rows(
    statement`select create_distributed_table(${name}, ${column}, colocate_with => ${colocated} ${shards})`,
  );
  await tx.rows(statement`select truncate_local_data_after_distributing_table(${name}::regclass)`);
  return true;
}

type Prepared = {
  available: boolean;
  citus: boolean;
  fdw: boolean;
  server: boolean;
  usable: boolean;
  mapped: boolean;
  database: string;
  role: string;
};

/** @throws {OperatorError} status 2: the server has no Citus, or a superuser has to prepare the database, by statements that it names */
export async function requireCitus(sql: Sql): Promise<void> {
  const [found] = await sql.rows<Prepared>(statement`
    select exists (select 1 from pg_available_extensions where name = 'citus') as available,
           exists (select 1 from pg_extension where extname = 'citus') as citus,
           exists (select 1 from pg_extension where extname = 'postgres_fdw') as fdw,
           s.oid is not null as server,
           coalesce(has_server_privilege(s.oid, 'usage'), r.rolsuper) as usable,
           exists (select 1 from pg_user_mappings
                    where srvname = ${FOREIGN_SERVER} and usename in (current_user, 'public')) as mapped,
           current_database() as database, current_user as role
      from pg_roles r
      left join pg_foreign_server s on s.srvname = ${FOREIGN_SERVER}
     where r.rolname = current_user`);
  if (!found?.available) throw refusal('its server does not have the extension Citus');
  const { database, role } = found;
  const needs: [boolean, string][] = [
    [found.citus, 'create extension citus; -- then citus_set_coordinator_host, and citus_add_node of each worker'],
    [found.fdw, 'create extension postgres_fdw;'],
    [
      found.server,
      `create server ${FOREIGN_SERVER} foreign data wrapper postgres_fdw options (host 'localhost', port '5432', dbname '${database}');`,
    ],
    [found.usable, `grant usage on foreign server ${FOREIGN_SERVER} to "${role}";`],
    [
      found.mapped,
      `create user mapping for "${role}" server ${FOREIGN_SERVER} options (user '${role}', password '…');`,
    ],
  ];
  const missing = needs.filter(([isThere]) => !isThere).map(([, line]) => line);
  if (missing.length > 0)
    throw refusal(`a superuser has to run in it:\n${missing.map((line) => `  ${line}`).join('\n')}`);
}

const refusal = (why: string): OperatorError =>
  new OperatorError(`Cannot distribute the database (storage.distributed = "citus"): ${why}`, 2);
