/** A cassette's statements on a server: with its role's own login, over connections of its own. */
import { sql } from 'drizzle-orm';
import type { Semaphore } from '../../semaphore.ts';
import type { Pool } from '../client/server.ts';
import type { Sql } from '../sql.ts';
import { nextCount } from './batches.ts';
import { type CassetteCalls, callCassette, type StatementCall } from './call.ts';
import type { Login } from './names.ts';

/** Of one cassette in this process. */
const CONNECTIONS = 4;

/** `idleSeconds`: after which the connections of statements are closed, if not the pool's own. */
type Deps = { dsn: string; pooled: boolean; login: () => Promise<Login>; statements: Semaphore; idleSeconds?: number };

export type ServerCalls = CassetteCalls & {
  /** Logs in once. @throws {DatabaseError} */
  probe(): Promise<void>;
  /** From now on statements log in anew. What runs ends on the connection that it has, and so do streams. */
  renew(): Promise<void>;
  /** Ends streams too. */
  close(): Promise<void>;
};

export function serverCalls({ dsn, pooled, login, statements, idleSeconds }: Deps): ServerCalls {
  let pool: Promise<Pool> | undefined;
  const streams = new Set<Pool>();
  const ofStatements = idleSeconds === undefined ? {} : { idleSeconds };
  const openOwnPool = async (options: { size: number; idleSeconds?: number }) => {
    const { openPool } = await import('../client/server.ts'); // with all operations, which embedded databases run in another thread
    return openPool({ dsn, pooled, login: await login(), ...ofStatements, ...options });
  };
  const sharedPool = () => {
    pool ??= openOwnPool({ size: CONNECTIONS });
    const opening = pool;
    opening.catch(() => {
      if (pool === opening) pool = undefined;
    });
    return opening;
  };
  /** A pooler does not keep a connection's settings, so the limit goes with each call. */
  const withTimeout = (call: StatementCall, limitMs: number): StatementCall =>
    pooled ? { ...call, settings: [...call.settings, ['statement_timeout', String(limitMs)]] } : call;

  const renew = async () => {
    const previous = pool;
    pool = undefined;
    await (await previous?.catch(() => undefined))?.close();
  };

  return {
    renew,
    async probe() {
      await (await sharedPool()).sqlFor(10_000).rows(sql`select 1 as one`);
    },
    async run(call, limitMs) {
      const pool = await sharedPool();
      await statements.acquire();
      try {
        return await callCassette(pool.sqlFor(limitMs), withTimeout(call(), limitMs));
      } finally {
        statements.release();
      }
    },
    async *stream(call, limitMs) {
      // One connection, so that all statements run on it. The driver sees no transaction: between two batches it would take it for idle.
      const own = await openOwnPool({ size: 1, idleSeconds: 0 });
      streams.add(own);
      const db = own.sqlFor(limitMs);
      try {
        await db.script('begin');
        await prepare(db, withTimeout(call(), limitMs));
        let count = nextCount([], 0);
        for (let ended = false; !ended; ) {
          const lines = await fetchRows(db, count);
          ended = lines.length < count;
          yield textsOf(lines);
          count = nextCount(lines, count);
        }
        await db.script('commit');
      } finally {
        streams.delete(own);
        await own.close(); // rolls back an unfinished transaction
      }
    },
    async close() {
      await Promise.all([...streams].map((own) => own.close()));
      await renew();
    },
  };
}

/** Joins lines, each one row, to texts of some 64 KiB. */
function textsOf(lines: readonly string[]): string[] {
  const texts: string[] = [];
  let pending: string[] = [];
  let chars = 0;
  for (const [i, line] of lines.entries()) {
    pending.push(line);
    chars += line.length;
    if (chars < TEXT_CHARS && i < lines.length - 1) continue;
    texts.push(pending.join(','));
    pending = [];
    chars = 0;
  }
  return texts;
}

const TEXT_CHARS = 64 * 1024;

/** How long a reader may pause between batches; meanwhile the server holds the statement's snapshot. */
const IDLE_MS = 2 * 60_000;

async function prepare(db: Sql, { text, shape, settings }: StatementCall): Promise<void> {
  const allSettings = [
    ...settings,
    ['standard_conforming_strings', 'on'],
    ['bytea_output', 'hex'],
    ['idle_in_transaction_session_timeout', String(IDLE_MS)],
  ] as const;
  for (const [name, value] of allSettings) await db.rows(sql`select set_config(${name}, ${value}, true)`);
  const object = 'pg_catalog.to_json(rows_of_it)';
  const array = `(select coalesce(pg_catalog.json_agg(m.value order by m.ordinality), '[]')
                    from pg_catalog.json_each(${object}) with ordinality as m)`;
  await db.script(
    `declare rows_of_it no scroll cursor for select (${shape === 'array' ? array : object})::text as line from (${text}\n) as rows_of_it`,
  );
}

const fetchRows = async (db: Sql, count: number): Promise<string[]> =>
  (await db.rows<{ line: string }>(sql`fetch ${sql.raw(String(count))} from rows_of_it`)).map(({ line }) => line);
