/** What comes back from a cassette's statement? It runs as the cassette's role, in a transaction that leaves nothing of it behind. */
import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { Shape } from './call-function.ts';
import { CALLS } from './names.ts';

export type Call = {
  /** Of the cassette. */
  schema: string;
  /** One statement that has been looked at, with its parameters in it. */
  text: string;
  shape: Shape;
  settings: readonly (readonly [name: string, value: string])[];
};

/** Of an answer that is held in memory as a whole. */
const MOST_BYTES = 64 * 1024 * 1024;
const NO_LIMIT = 2 ** 53 - 1; // bytes

/** Lines as the function gives them. (call-function.ts) */
export async function callCassette(db: Sql, call: Call): Promise<string[]> {
  const lines = async (tx: Sql) => (await tx.rows<{ line: string }>(called(call))).map(({ line }) => line);
  if (db.kind === 'server' && call.settings.length === 0) return lines(db);
  return contained(db, call.settings, lines);
}

/** `cursor`: null when the lines are all there are. */
export type Opened = { lines: string[]; cursor: string | null };

/**
 * Runs a statement to its end, and keeps what it gave until it is read or let go of: beyond some memory in a temporary file of the
 * database's. The cursor outlives the transaction, which a reader's pace must not: the embedded database has but one connection.
 */
export async function openCassetteCursor(db: Sql, call: Call & { cursor: string; count: number }): Promise<Opened> {
  const { cursor, count } = call;
  return contained(db, call.settings, async (tx) => {
    const name = sql.identifier(cursor);
    await tx.rows(sql`set local temp_file_limit = '4GB'`);
    await tx.rows(sql`declare ${name} no scroll cursor with hold for ${calledInline(call)}`);
    const lines = await fetched(tx, cursor, count); // the statement runs here, not at the commit, which is nobody's to catch
    if (lines.length === count) return { lines, cursor };
    await tx.rows(sql`close ${name}`);
    return { lines, cursor: null };
  });
}

/** Fewer than `count`: these were the last. */
export const fetchCassetteCursor = (db: Sql, { cursor, count }: { cursor: string; count: number }): Promise<string[]> =>
  fetched(db, cursor, count);

export async function closeCassetteCursor(db: Sql, { cursor }: { cursor: string }): Promise<void> {
  await db.rows(sql`close ${sql.identifier(cursor)}`);
}

const called = ({ schema, text, shape }: Call) =>
  sql`select line from ${functionOf(schema)}(${text}, ${shape}, ${MOST_BYTES}::bigint) as line`;

/** DECLARE takes no parameters. */
const calledInline = ({ schema, text, shape }: Call) =>
  sql`select line from ${functionOf(schema)}(${quoted(text)}, ${quoted(shape)}, ${sql.raw(String(NO_LIMIT))}) as line`;

const functionOf = (schema: string) => sql`${sql.identifier(CALLS)}.${sql.identifier(schema)}`;

const quoted = (text: string) => sql.raw(`E'${text.replace(/[\\']/g, '$&$&')}'`);

const fetched = async (db: Sql, cursor: string, count: number): Promise<string[]> =>
  (await db.rows<{ line: string }>(sql`fetch ${sql.raw(String(count))} from ${sql.identifier(cursor)}`)).map(
    ({ line }) => line,
  );

/** On the embedded database the session is the core's own: whatever a statement left in it goes before anyone else is served. */
async function contained<T>(db: Sql, settings: Call['settings'], work: (tx: Sql) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    if (settings.length > 0) {
      const [names, values] = [settings.map(([name]) => name), settings.map(([, value]) => value)];
      await tx.rows(sql`
        select set_config(name, value, true)
          from unnest(${pgArray(names)}::text[], ${pgArray(values)}::text[]) as s (name, value)`);
    }
    if (tx.kind === 'server') return work(tx);
    try {
      const answer = await work(tx);
      await tx.script('reset all; discard temp');
      const [row] = await tx.rows<{ sound: number }>(sql`select 42 as sound, pg_advisory_unlock_all()`);
      if (row?.sound === 42) return answer; // else it gave no rows above either, and says nothing of it
    } catch (error) {
      if (!isBroken(error)) throw error;
    }
    throw new WebAssembly.RuntimeError('Cannot go on: the engine is broken');
  });
}

/**
 * PGlite that ran out of its stack says so in one of these ways, and then answers wrongly or not at all; so its thread is started
 * again. (serve-questions.ts)
 */
const isBroken = (error: unknown): boolean =>
  error instanceof DatabaseError ? /^(XX000|26000|08P01)$/.test(error.sqlstate) : true;
