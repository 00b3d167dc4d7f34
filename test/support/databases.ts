/** Databases for tests: each has its own, freshly migrated, of both kinds: the embedded one in its thread, and a server. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql as statement } from 'drizzle-orm';
import { suite, type Test } from 'uvu';
import { ensureTemplate } from '../../core/build/make-template.ts';
import { THREAD_LIMITS } from '../../core/db/client/database-thread.ts';
import type { StartThread } from '../../core/db/client/embedded-host.ts';
import { openPool } from '../../core/db/client/server.ts';
import { templateKey } from '../../core/db/client/template.ts';
import { DISTRIBUTED, distribute } from '../../core/db/distribute/distribute.ts';
import { migrate } from '../../core/db/migrate.ts';
import { readMigrations } from '../../core/db/migrations.ts';
import { type OpenDatabase, openDatabase } from '../../core/db/open.ts';
import { partition } from '../../core/db/partition/partitioned-tables.ts';
import { type Logger, openLog } from '../../core/log.ts';
import { startWorker } from '../../core/start-worker.ts';
import { closeTemplate, createOnNodes, dropOnNodes, isCitus, onNodes } from './citus-cluster.ts';
import { rawSql } from './raw-sql.ts';

const run = promisify(execFile);

export type TestDatabase = OpenDatabase & {
  /** For assertions: any statement, parameters as `$1`. */
  sql(text: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Empties all tables of `svc` but the installation's. */
  reset(): Promise<void>;
  /** The folder of the embedded database. */
  folder?: string;
  /** The connection string of the server's database. */
  dsn?: string;
};

type Options = {
  statementTimeoutMs?: number;
  log?: Logger;
  /** Where the embedded database is made, as `data`; it stays when the database is closed. */
  folder?: string;
  /** The tests look at a server's plans, of which the coordinator of a cluster shows only its own part. */
  readsPlans?: boolean;
};

/**
 * Runs a uvu suite twice: `<name> (embedded)` and `<name> (server)`, each with a database for all of its tests. Without
 * SVC_TEST_DSN the second is skipped, and reports that. No `run()` is needed.
 */
export function databaseSuite(
  name: string,
  define: (test: Test, database: () => TestDatabase) => void,
  options: Options = {},
): void {
  const dsn = process.env.SVC_TEST_DSN ?? '';
  if (!isCitus(dsn)) runSuite(`${name} (embedded)`, define, () => embeddedDatabase(options));
  if (dsn === '') console.log(`skip: ${name} (server): SVC_TEST_DSN is not set`);
  else if (options.readsPlans && isCitus(dsn))
    console.log(`skip: ${name} (server): a cluster's plans are not one server's`);
  else runSuite(`${name} (server)`, define, () => serverDatabase(dsn, options));
}

function runSuite(
  name: string,
  define: (test: Test, database: () => TestDatabase) => void,
  open: () => Promise<TestDatabase>,
): void {
  const test = suite(name);
  let database: TestDatabase | undefined;
  test.before(async () => {
    database = await open();
  });
  test.after(async () => {
    await database?.close();
  });
  define(test, () => {
    if (!database) throw new Error('Cannot give the database: it is open while tests run, not while they are declared');
    return database;
  });
  test.run();
}

/** Starts the database thread with the operation that runs any statement. */
export const startTestThread: StartThread = (data, transfer) =>
  startWorker('../test/support/database-worker', data, transfer, THREAD_LIMITS);

/** A copy of the template, removed when it is closed. */
export async function embeddedDatabase({
  statementTimeoutMs = 60_000,
  log = openLog('silent'),
  folder: own,
}: Options = {}): Promise<TestDatabase> {
  const folder = own ?? (await mkdtemp(join(tmpdir(), 'svc-test-')));
  await run('cp', ['-R', join(await templateFolder(), 'data'), folder]); // half the time of `fs.cp`
  const database = await openDatabase({
    dsn: '',
    pooled: false,
    folder,
    log,
    statementTimeoutMs,
    startThread: startTestThread,
  });
  const execute = database.execute as unknown as (name: string, args: unknown) => Promise<Record<string, unknown>[]>;
  return testDatabase(database, (text, params) => execute('rawSql', { text, params }), {
    folder,
    remove: own === undefined ? () => rm(folder, { recursive: true, force: true }) : async () => {},
  });
}

/** A new database in the cluster of `dsn`, dropped when it is closed. */
export async function serverDatabase(
  dsn: string,
  { statementTimeoutMs = 60_000 }: Options = {},
): Promise<TestDatabase> {
  const template = await templateDatabase(dsn);
  const own = await emptyServerDatabase(dsn, template);
  const database = await openDatabase({
    dsn: own.dsn,
    pooled: false,
    folder: '',
    log: openLog('silent'),
    statementTimeoutMs,
  });
  const pool = openPool({ dsn: own.dsn, pooled: false, size: 2 });
  return testDatabase(database, (text, params) => rawSql(pool.sqlFor(60_000), { text, params }), {
    dsn: own.dsn,
    remove: async () => {
      await pool.close();
      await own.drop();
    },
  });
}

/** A new database in the cluster of `dsn`, copied from `template`. */
export async function emptyServerDatabase(dsn: string, template = 'template0') {
  const name = `svc_test_${randomUUID().replaceAll('-', '')}`;
  if (isCitus(dsn)) await createOnNodes(dsn, name, template);
  else await maintain(dsn, `create database ${name} template ${template}`);
  const drop = async () => {
    if (isCitus(dsn)) await dropOnNodes(dsn, name);
    else await maintain(dsn, `drop database ${name} with (force)`);
    await onCoordinator(dsn, DROP_ORPHANS); // which drops them on the workers of its cluster
  };
  return { dsn: withDatabase(dsn, name), drop };
}

/** Roles of cassettes of a database that was dropped. Roles belong to the cluster; their names end with the number of the database. */
const DROP_ORPHANS = `do $body$
declare
  orphan text;
begin
  for orphan in
    select r.rolname from pg_roles r
     where r.rolname ~ '^cassette_.*_[0-9]+$'
       and not exists (select from pg_database d where r.rolname like '%\\_' || d.oid)
  loop
    begin
      execute format('drop role %I', orphan);
    exception when others then null; -- another test drops it just now
    end;
  end loop;
end $body$`;

function testDatabase(
  database: OpenDatabase,
  sql: (text: string, params: readonly unknown[]) => Promise<Record<string, unknown>[]>,
  { remove, ...where }: { folder?: string; dsn?: string; remove(): Promise<void> },
): TestDatabase {
  return {
    ...database,
    ...where,
    sql: (text, params = []) => sql(text, params),
    reset: async () => {
      await sql(EMPTY, []);
      if (where.dsn && isCitus(process.env.SVC_TEST_DSN ?? ''))
        for (const table of DISTRIBUTED) await sql(`delete from ${table}`, []); // of which this node has no pages
    },
    async close() {
      await database.close();
      await remove();
    },
  };
}

/**
 * A table that nothing was written to since it was last emptied has no pages. One of few pages is emptied by deleting its rows, without
 * triggers: to truncate it makes files anew for it and each of its indexes, which takes a hundred times as long.
 */
const EMPTY = `do $body$
declare
  of_few text;
  of_many text;
  sequence text;
begin
  perform set_config('svc.purge', 'on', true);
  perform set_config('session_replication_role', 'replica', true);
  for of_few in
    select format('svc.%I', relname)
      from pg_class
     where relnamespace = 'svc'::regnamespace and relkind = 'r' and relname not in ('installation', 'partitions')
       and pg_relation_size(oid) between 1 and 500000
  loop
    execute 'delete from ' || of_few;
  end loop;
  select string_agg(format('svc.%I', relname), ', ') into of_many
    from pg_class
   where relnamespace = 'svc'::regnamespace and relkind = 'r' and relname not in ('installation', 'partitions') and pg_relation_size(oid) > 500000;
  if of_many is not null then
    execute 'truncate ' || of_many || ' cascade';
  end if;
  for sequence in
    select format('%I.%I', schemaname, sequencename) from pg_sequences where schemaname = 'svc' and last_value is not null
  loop
    perform setval(sequence, 1, false);
  end loop;
end $body$`;

/** The template of the embedded database, of which new ones are copies, as a build makes it: once, and shared by all test processes. */
export async function templateFile(): Promise<string> {
  return ensureTemplate(join(tmpdir(), `svc-test-packed-${await templateKey()}`));
}

/**
 * A folder that holds in `data` an embedded database of this version, to be copied, since making one takes seconds. It is made once per
 * set of migrations and shared by all test processes; the first to finish puts it in place.
 */
export async function templateFolder(): Promise<string> {
  const shared = join(tmpdir(), `svc-test-template-${await templateKey()}`);
  if (existsSync(shared)) return shared;
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-making-'));
  const template = await templateFile();
  const database = await openDatabase({ dsn: '', pooled: false, folder, log: openLog('silent'), template });
  await database.close();
  await rename(folder, shared).catch(() => rm(folder, { recursive: true, force: true })); // another was first
  return shared;
}

/** Suites for a server run on partitioned tables. */
const PARTITIONED = process.env.SVC_TEST_PARTITIONED === 'true';

async function templateDatabase(dsn: string): Promise<string> {
  const name = `svc_template_${await templateKey()}${PARTITIONED ? '_partitioned' : ''}`;
  const pool = openPool({ dsn, pooled: false, size: 1 });
  const sql = pool.sqlFor(120_000);
  try {
    await sql.rows(statement`select pg_advisory_lock(hashtext(${name}))`); // held by the one connection until it closes
    const [found] = await sql.rows(statement`select 1 as one from pg_database where datname = ${name}`);
    if (found) return name;
    const making = await emptyServerDatabase(dsn);
    const target = openPool({ dsn: making.dsn, pooled: false, size: 1 });
    try {
      await migrate(target.sqlFor(120_000), await readMigrations());
      if (isCitus(dsn)) await distribute(target.sqlFor(120_000));
      if (PARTITIONED) await partition(target.sqlFor(120_000));
    } finally {
      await target.close();
    }
    const made = new URL(making.dsn).pathname.slice(1);
    if (isCitus(dsn)) await closeTemplate(dsn, made);
    await maintain(dsn, `alter database ${made} rename to ${name}`);
    return name;
  } finally {
    await pool.close();
  }
}

/** Runs statements on the server of `dsn`, or on each one of a cluster. */
export async function maintain(dsn: string, text: string): Promise<void> {
  if (isCitus(dsn)) await onNodes(dsn, text);
  else await onCoordinator(dsn, text);
}

async function onCoordinator(dsn: string, text: string): Promise<void> {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  await pool.sqlFor(120_000).script(text).finally(pool.close);
}

function withDatabase(dsn: string, name: string): string {
  const url = new URL(dsn);
  url.pathname = `/${name}`;
  return url.href;
}
