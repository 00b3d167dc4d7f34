/** What comes back from a cassette's statement? It runs as the cassette's role, in a transaction that leaves nothing of it behind. */
import { sql } from 'drizzle-orm';
import { leftBehind } from '../../collect-garbage.ts';
import { DatabaseError } from '../../errors.ts';
import { pgArray, quotedText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { Shape } from './call-function.ts';
import { CALLS } from './names.ts';

export type StatementCall = {
  /** Of the cassette. */
  schema: string;
  /** One statement that has been looked at, with its parameters in it. */
  text: string;
  shape: Shape;
  settings: readonly (readonly [name: string, value: string])[];
};

/** Of an answer that is held in memory as a whole. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Of a stream on the embedded database, whose rows wait in a file until they are read. */
const STREAM_BYTES = 256 * 1024 * 1024;
const NO_LIMIT = 2 ** 53 - 1; // bytes
/** Sorting takes files as well, and making a cursor holds its rows twice. PostgreSQL counts those of the whole session. */
const FILE_MB = 768;

/** Rows as the function gives them. (call-function.ts) */
export async function callCassette(db: Sql, call: StatementCall): Promise<string[]> {
  const texts = async (tx: Sql) => textsIn(await tx.rows<Line>(called(call)));
  if (db.kind === 'server' && call.settings.length === 0) return texts(db);
  return contained(db, call.settings, async (tx) => {
    if (tx.kind === 'server') return texts(tx);
    await limitFiles(tx);
    const lines = await texts(tx);
    leave(lines.reduce((sum, line) => sum + line.length, 0));
    return lines;
  });
}

/** In the thread of the embedded database, which hands on a copy. */
const leave = leftBehind({ large: 1024 * 1024, enough: 16 * 1024 * 1024, afterMs: 100 });

/** `cursor`: null when the texts are all there are. */
export type OpenCursor = { texts: string[]; cursor: string | null };

/**
 * Runs a statement to its end, and keeps what it gave until it is read or let go of: beyond some memory in a temporary file of the
 * database's. The cursor outlives the transaction, which a reader's pace must not: the embedded database has but one connection.
 */
export async function openCassetteCursor(
  db: Sql,
  call: StatementCall & { cursor: string; unbounded: boolean },
): Promise<OpenCursor> {
  const { cursor, unbounded } = call;
  return contained(db, call.settings, async (tx) => {
    const name = sql.identifier(cursor);
    if (!unbounded) await limitFiles(tx);
    const rows = calledInline(call, unbounded ? NO_LIMIT : STREAM_BYTES);
    await tx.rows(sql`declare ${name} no scroll cursor with hold for ${rows}`);
    const { texts, ended } = await fetched(tx, cursor); // the statement runs here, not at the commit, which is nobody's to catch
    if (!ended) return { texts, cursor };
    await tx.rows(sql`close ${name}`);
    return { texts, cursor: null };
  });
}

/** What other streams hold is counted with what this statement may take. */
const limitFiles = (tx: Sql) =>
  tx.rows(sql`
    select set_config('temp_file_limit', (${FILE_MB}::integer * (1 + count(*)))::text || 'MB', true)
      from pg_cursors where is_holdable`);

export const fetchCassetteCursor = (db: Sql, { cursor }: { cursor: string }): Promise<Fetched> => fetched(db, cursor);

export async function closeCassetteCursor(db: Sql, { cursor }: { cursor: string }): Promise<void> {
  await db.rows(sql`close ${sql.identifier(cursor)}`);
}

type Line = { line: string };
type Fetched = { texts: string[]; ended: boolean };

/** So much is handed on at once, by texts of 64 KiB or one large row. */
const BATCH_CHARS = 1024 * 1024;

async function fetched(db: Sql, cursor: string): Promise<Fetched> {
  const texts: string[] = [];
  for (let chars = 0; chars < BATCH_CHARS; ) {
    const [row] = await db.rows<Line>(sql`fetch 1 from ${sql.identifier(cursor)}`);
    if (!row) return { texts, ended: true };
    texts.push(row.line);
    chars += row.line.length;
  }
  return { texts, ended: false };
}

const textsIn = (rows: readonly Line[]): string[] => rows.map(({ line }) => line);

const called = ({ schema, text, shape }: StatementCall) =>
  sql`select line from ${functionOf(schema)}(${text}, ${shape}, ${MOST_BYTES}::bigint) as line`;

/** DECLARE takes no parameters. */
const calledInline = ({ schema, text, shape }: StatementCall, mostBytes: number) =>
  sql`select line from ${functionOf(schema)}(${sql.raw(quotedText(text))}, ${sql.raw(quotedText(shape))}, ${sql.raw(String(mostBytes))}) as line`;

const functionOf = (schema: string) => sql`${sql.identifier(CALLS)}.${sql.identifier(schema)}`;

/** On the embedded database the session is the core's own: whatever a statement left in it goes before anyone else is served. */
async function contained<T>(db: Sql, settings: StatementCall['settings'], work: (tx: Sql) => Promise<T>): Promise<T> {
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
