/** Queries to a separate database for vectors, over connections of search itself. Its schema is created there first. */
import type postgres from 'postgres';
import type { Db, Migration } from '../../core/cassette/contract.ts';
import { migrations } from './migrations.ts';
import { SearchOff } from './relations.ts';

const SCHEMA = 'search';
const LOCK = '8201447304118406'; // the advisory lock of all processes that share that database
const CONNECTIONS = 4;
const IDLE_SECONDS = 10;
const TIMEOUT_SECONDS = 10;

/** Only in a separate database: a copy of the list, so that one statement finds new, changed and deleted spans, as in the main database. */
const LISTED: Migration = {
  name: '0001_listed_spans',
  sql: `
create table listed_spans (
  trace_id     uuid not null,
  span_id      uuid not null,
  session_id   uuid not null,
  started_at   timestamptz not null,
  fingerprint  text not null,
  primary key (trace_id, span_id)
);`,
};
const LISTED_BY_SESSION: Migration = {
  name: '0002_listed_spans_by_session',
  sql: 'create index listed_spans_session on listed_spans (session_id);',
};

export const isTarget = (target: string): boolean => /^postgres(ql)?:\/\//.test(target) && URL.canParse(target);

/** Open databases by address. After a failure the next caller tries again. */
const opened = new Map<string, Promise<Db['query']>>();

/** @throws {SearchOff} the database cannot store vectors @throws {Error} `DatabaseError`: it cannot be reached */
export function openTarget(target: string): Promise<Db['query']> {
  const existing = opened.get(target);
  if (existing) return existing;
  const opening = open(target);
  opened.set(target, opening);
  opening.catch(() => opened.delete(target));
  return opening;
}

async function open(target: string): Promise<Db['query']> {
  const { default: connect } = await import('postgres');
  const options = (connection: Record<string, string>): postgres.Options<Record<string, postgres.PostgresType>> => ({
    ...{ fetch_types: false, connect_timeout: TIMEOUT_SECONDS, idle_timeout: IDLE_SECONDS, onnotice: () => {}, types },
    connection: { application_name: 'svc search', ...connection },
  });
  const first = connect(target, { ...options({}), max: 1 });
  const searchPath = await prepareSchema(first)
    .catch((error: unknown) => {
      throw failure(error);
    })
    .finally(() => first.end({ timeout: 1 }));
  const pool = connect(target, { ...options({ search_path: searchPath }), max: CONNECTIONS });
  return (async (sql: string, parameters: readonly unknown[] = [], { settings = {} } = {}) => {
    const chosen = Object.entries(settings).map(([name, value]) => [name, String(value)]);
    const values = parameters as postgres.ParameterOrJSON<never>[];
    try {
      const rows =
        chosen.length === 0
          ? await pool.unsafe(sql, values, { prepare: true })
          : await pool.begin(async (tx) => {
              for (const pair of chosen) await tx.unsafe('select set_config($1, $2, true)', pair, { prepare: true });
              return tx.unsafe(sql, values, { prepare: true });
            });
      return { rows: [...rows], row_count: rows.count };
    } catch (error) {
      throw failure(error);
    }
  }) as Db['query'];
}

/** The same types as in the main database: numbers as numbers, JSON parameters as text. */
const types: Record<string, postgres.PostgresType> = {
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
  json: { to: 3802, from: [114, 3802], serialize: (text: string) => text, parse: (text: string) => JSON.parse(text) },
};

/** Creates the schema and its tables. @returns the search path */
function prepareSchema(sql: postgres.Sql<Record<string, unknown>>): Promise<string> {
  return sql.begin(async (tx) => {
    await tx.unsafe(`select pg_advisory_xact_lock(${LOCK})`);
    await tx.unsafe(`create schema if not exists ${SCHEMA}`);
    const vectors = await schemaOfVectors(tx);
    const path = `${SCHEMA}, "${vectors.replaceAll('"', '""')}", public`;
    await tx.unsafe('select set_config($1, $2, true)', ['search_path', path]);
    await tx.unsafe('create table if not exists applied_migrations (name text primary key)');
    const applied = (await tx.unsafe('select name from applied_migrations')).map(({ name }) => name);
    for (const { name, sql: text } of [...migrations, LISTED, LISTED_BY_SESSION]) {
      if (applied.includes(name)) continue;
      await tx.unsafe(text);
      await tx.unsafe('insert into applied_migrations values ($1)', [name]);
    }
    return path;
  }) as Promise<string>;
}

async function schemaOfVectors(tx: postgres.TransactionSql<Record<string, unknown>>): Promise<string> {
  const findExtension = () =>
    tx.unsafe(
      "select n.nspname as name from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'",
    );
  const [extension] = await findExtension();
  if (extension) return String(extension.name);
  await tx
    .savepoint((inner) => inner.unsafe('create extension vector with schema public'))
    .catch((error: unknown) => {
      const { code } = error as { code?: unknown };
      throw new SearchOff(
        `the database of vector_store.target has no extension vector, and it cannot be made there (${code}); have an administrator run: create extension vector`,
      );
    });
  return 'public';
}

/** A failure without the server's message, which can contain the user name. */
function failure(error: unknown): Error {
  if (error instanceof SearchOff) return error;
  const { code, name } = error as { code?: unknown; name?: unknown };
  const sqlstate = name === 'PostgresError' && typeof code === 'string' ? code : '';
  const why = typeof code === 'string' && /^\w+$/.test(code) ? code : 'it failed';
  return Object.assign(new Error(`Cannot ask the database of vector_store.target: ${why}`), {
    name: 'DatabaseError',
    sqlstate,
    transient: sqlstate === '' || /^(08|28|3D|40|53|55|57|58)/.test(sqlstate),
  });
}
