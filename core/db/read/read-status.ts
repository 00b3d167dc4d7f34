/** The status of the database: what it holds, and what was parked. Cheap at any size, so that it can be queried during an incident. */
import { type SQL, sql } from 'drizzle-orm';
import type { ParkedSession, ParkedTurn, Status } from '../../model/status.ts';
import { instant, pgArray } from '../literals.ts';
import { KEPT } from '../partition/partitions.ts';
import type { Sql } from '../sql.ts';

export type StoredStatus = Pick<Status, 'database' | 'counts' | 'estimated' | 'parked_sessions' | 'parked_turns'> & {
  last_turn_at: string | null;
};

/**
 * @param counted_bytes a table up to that size is counted, a larger one estimated. Counting 100,000 rows takes 10 to 60 ms,
 *   during which the embedded database runs nothing else
 */
export async function readStatus(db: Sql, { counted_bytes }: { counted_bytes: number }): Promise<StoredStatus> {
  const { last_turn_at, sessions, raw_turns, slice_bytes, ...database } = await facts(db);
  const { rows, estimated } = await rowsOf(db, counted_bytes);
  return {
    database: { kind: db.kind, ...database, extensions: await extensions(db), ...(await partitionsOf(db)) },
    counts: { sessions, raw_turns, ...rows, slice_bytes },
    estimated,
    parked_sessions: await parkedSessions(db),
    parked_turns: await parkedTurns(db),
    last_turn_at,
  };
}

type Facts = {
  server_version: string;
  bytes: number;
  slice_bytes: number;
  sessions: number;
  raw_turns: number;
  last_turn_at: string | null;
};

/** Turns are counted by the numbers in their sessions' rows, of which there are far fewer. */
async function facts(db: Sql): Promise<Facts> {
  const [row] = await db.rows<Facts>(sql`
    select current_setting('server_version') as server_version, svc.database_bytes() as bytes,
           svc.table_bytes('svc.slices') as slice_bytes, count(*) filter (where not s.is_empty) as sessions,
           coalesce(sum(s.turn_count - s.purged_turns), 0)::bigint as raw_turns,
           (select ${instant(sql`max(l.last_seen_at)`)} from svc.sessions l where l.turn_count > 0) as last_turn_at
      from svc.sessions s`);
  if (!row) throw new Error('Cannot read the status: an aggregate gave no row');
  return row;
}

const LARGE = ['nodes', 'traces', 'spans', 'slices'] as const;
type Large = (typeof LARGE)[number];

/**
 * The estimate is the planner's own: rows to a page when the table, or each of its partitions, was last analysed, times the pages it has
 * now. A table that was never analysed is counted whatever its size; autovacuum or upkeep analyses it within a minute.
 */
async function rowsOf(
  db: Sql,
  countedBytes: number,
): Promise<{ rows: Record<Large, number>; estimated: Status['estimated'] }> {
  const estimates = await db.rows<{ name: Large; estimate: number }>(sql`
    select w.relname as name,
           sum(c.reltuples::double precision * (size.bytes / current_setting('block_size')::bigint) / nullif(c.relpages, 0))::bigint as estimate
      from pg_class w
     cross join lateral (select w.oid where w.relkind = 'r' union all select inhrelid from pg_inherits where inhparent = w.oid) t
      join pg_class c on c.oid = t.oid
     cross join lateral (select pg_relation_size(c.oid) as bytes) size
     where w.relnamespace = 'svc'::regnamespace and w.relname = any(${pgArray(LARGE)}::text[]) and size.bytes > 0
     group by w.relname
    having bool_and(c.reltuples >= 0 and c.relpages > 0) and sum(size.bytes) > ${countedBytes}
     order by w.relname`);
  const estimateOf = new Map(estimates.map(({ name, estimate }) => [name, estimate]));
  const column = (name: Large): SQL =>
    estimateOf.has(name)
      ? sql`${estimateOf.get(name)}::bigint as ${sql.identifier(name)}`
      : sql`(select count(*) from ${sql.identifier('svc')}.${sql.identifier(name)}) as ${sql.identifier(name)}`;
  const [rows] = await db.rows<Record<Large, number>>(sql`select ${sql.join(LARGE.map(column), sql`, `)}`);
  if (!rows) throw new Error('Cannot read the status: an aggregate gave no row');
  return { rows, estimated: LARGE.filter((name) => estimateOf.has(name)) };
}

type Extension = Status['database']['extensions'][number];

const REPORTED_EXTENSIONS: readonly Extension['name'][] = [
  'citus',
  'citus_columnar',
  'pg_duckdb',
  'timescaledb',
  'vector',
];

const extensions = (db: Sql) =>
  db.rows<Extension>(sql`
    select e.name, coalesce(e.installed_version, e.default_version, '') as version,
           e.installed_version is not null as installed
      from pg_available_extensions e
     where e.name = any(${pgArray(REPORTED_EXTENSIONS)}::name[])
     order by e.name`);

type Partitions = NonNullable<Status['database']['partitions']>;
type PartitionRow = { [Name in keyof Required<Partitions[number]>]: Required<Partitions[number]>[Name] | null };

async function partitionsOf(db: Sql): Promise<{ partitions?: Partitions }> {
  const rows = await db.rows<PartitionRow & { bytes: number }>(sql`
    select ${instant(sql`p.began_at`)} as began_at, ${instant(sql`p.ended_at`)} as ended_at, p.leaving,
           (select coalesce(sum(svc.table_bytes(c.oid)), 0)::bigint from pg_class c
             where c.relnamespace = 'svc'::regnamespace and c.relkind = 'r' and c.relname ~ ('_p' || p.partition_no || '$')) as bytes
      from svc.partitions p
     where p.partition_no <> ${KEPT}
     order by p.partition_no`);
  const partitions = rows.map(({ bytes, began_at, ended_at, leaving }) => ({
    bytes,
    ...(began_at !== null && { began_at }),
    ...(ended_at !== null && { ended_at }),
    ...(leaving !== null && { leaving }),
  }));
  return partitions.length > 0 ? { partitions } : {};
}

const MOST_SHOWN = 20;

const parkedSessions = (db: Sql) =>
  db.rows<ParkedSession>(sql`
    select q.session_id, coalesce(s.harness_id, '') as harness_id, coalesce(s.harness_session_id, '') as harness_session_id,
           coalesce(q.error, '') as error, q.attempts, ${instant(sql`q.parked_at`)} as parked_at
      from svc.derive_queue q
      left join svc.sessions s on s.session_id = q.session_id
     where q.parked_at is not null
     order by q.parked_at desc, q.session_id
     limit ${MOST_SHOWN}`);

async function parkedTurns(db: Sql): Promise<Status['parked_turns']> {
  const newest = await db.rows<ParkedTurn>(sql`
    select t.svc_proxy_request_id, t.reason, ${instant(sql`t.parked_at`)} as parked_at,
           octet_length(t.request_body)::bigint + octet_length(t.response_body) as bytes
      from svc.parked_turns t
     order by t.parked_at desc, t.svc_proxy_request_id
     limit ${MOST_SHOWN}`);
  const [all] = await db.rows<{ count: number }>(sql`select count(*) as count from svc.parked_turns`);
  return { count: all?.count ?? 0, newest };
}
