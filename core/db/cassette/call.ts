/** Runs a cassette's statement as its role, in a transaction that leaves no trace in the session, and returns its rows. */
import { sql } from 'drizzle-orm';
import { collectAfterLarge } from '../../collect-garbage.ts';
import { DatabaseError } from '../../errors.ts';
import { pgArray, quotedText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { ResultShape } from './call-function.ts';
import { CALLS } from './names.ts';

export type StatementCall = {
  /** The cassette's. */
  schema: string;
  /** One statement that has been checked, with its parameters in it. */
  text: string;
  shape: ResultShape;
  settings: readonly (readonly [name: string, value: string])[];
};

/** How a call reaches the database. `call` is built when its turn comes, so that few are in memory. Texts as in `RowTexts` (core/cassette/database/cassette-db.ts). */
export type CassetteCalls = {
  /** @throws {DatabaseError} `57014` it took too long */
  run(call: () => StatementCall, limitMs: number): Promise<string[]>;
  /** Batches of texts. */
  stream(call: () => StatementCall, limitMs: number): AsyncGenerator<string[]>;
};

/** The limit of a result that is held in memory as a whole. */
const MOST_BYTES = 64 * 1024 * 1024;
/** The limit of a stream on the embedded database, whose rows are in a file until they are read. */
const STREAM_BYTES = 256 * 1024 * 1024;
const NO_LIMIT = 2 ** 53 - 1; // bytes
/** The limit of temporary files. Sorting uses files as well, and making a cursor holds its rows twice. PostgreSQL counts the whole session's. */
const FILE_MB = 768;

/** Rows as the function of call-function.ts returns them. */
export async function callCassette(db: Sql, call: StatementCall): Promise<string[]> {
  const texts = async (tx: Sql) => textsIn(await tx.rows<Line>(callSql(call)));
  if (db.kind === 'server' && call.settings.length === 0) return texts(db);
  return runContained(db, call.settings, async (tx) => {
    if (tx.kind === 'server') return texts(tx);
    await limitFiles(tx);
    const lines = await texts(tx);
    countGarbage(lines.reduce((sum, line) => sum + line.length, 0));
    return lines;
  });
}

/** For the thread of the embedded database, which sends a copy to the caller's thread. */
const countGarbage = collectAfterLarge({ large: 1024 * 1024, enough: 16 * 1024 * 1024, afterMs: 100 });

/** `cursor`: null when `texts` is the whole result. */
export type OpenCursor = { texts: string[]; cursor: string | null };

/**
 * Runs a statement to its end, and holds its rows until the cursor is read or closed: beyond some memory in a temporary file of the
 * database. The cursor outlives the transaction. A slow reader must not keep that open: the embedded database has only one connection.
 */
export async function openCassetteCursor(
  db: Sql,
  call: StatementCall & { cursor: string; unbounded: boolean },
): Promise<OpenCursor> {
  const { cursor, unbounded } = call;
  return runContained(db, call.settings, async (tx) => {
    const name = sql.identifier(cursor);
    if (!unbounded) await limitFiles(tx);
    const rows = inlineCallSql(call, unbounded ? NO_LIMIT : STREAM_BYTES);
    await tx.rows(sql`declare ${name} no scroll cursor with hold for ${rows}`);
    const { texts, ended } = await fetchBatch(tx, cursor); // runs the statement here, so that its errors are caught here and not at the commit
    if (!ended) return { texts, cursor };
    await tx.rows(sql`close ${name}`);
    return { texts, cursor: null };
  });
}

/** The limit grows with the number of open cursors, since PostgreSQL counts their files with this statement's. */
const limitFiles = (tx: Sql) =>
  tx.rows(sql`
    select set_config('temp_file_limit', (${FILE_MB}::integer * (1 + count(*)))::text || 'MB', true)
      from pg_cursors where is_holdable`);

export const fetchCassetteCursor = (db: Sql, { cursor }: { cursor: string }): Promise<FetchedRows> =>
  fetchBatch(db, cursor);

export async function closeCassetteCursor(db: Sql, { cursor }: { cursor: string }): Promise<void> {
  await db.rows(sql`close ${sql.identifier(cursor)}`);
}

type Line = { line: string };
type FetchedRows = { texts: string[]; ended: boolean };

/** The size of a batch, which consists of texts of 64 KiB or one large row. */
const BATCH_CHARS = 1024 * 1024;

async function fetchBatch(db: Sql, cursor: string): Promise<FetchedRows> {
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

const callSql = ({ schema, text, shape }: StatementCall) =>
  sql`select line from ${functionOf(schema)}(${text}, ${shape}, ${MOST_BYTES}::bigint) as line`;

/** The same with literals, since DECLARE takes no parameters. */
const inlineCallSql = ({ schema, text, shape }: StatementCall, mostBytes: number) =>
  sql`select line from ${functionOf(schema)}(${sql.raw(quotedText(text))}, ${sql.raw(quotedText(shape))}, ${sql.raw(String(mostBytes))}) as line`;

const functionOf = (schema: string) => sql`${sql.identifier(CALLS)}.${sql.identifier(schema)}`;

/** On the embedded database the session is shared with the core: whatever a statement left in it is reset before the next one. */
async function runContained<T>(
  db: Sql,
  settings: StatementCall['settings'],
  work: (tx: Sql) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    if (settings.length > 0) {
      const [names, values] = [settings.map(([name]) => name), settings.map(([, value]) => value)];
      await tx.rows(sql`
        select set_config(name, value, true)
          from unnest(${pgArray(names)}::text[], ${pgArray(values)}::text[]) as s (name, value)`);
    }
    if (tx.kind === 'server') return work(tx);
    try {
      const result = await work(tx);
      await tx.script('reset all; discard temp');
      const [row] = await tx.rows<{ sound: number }>(sql`select 42 as sound, pg_advisory_unlock_all()`);
      if (row?.sound === 42) return result; // a broken engine returns no row, and raises no error
    } catch (error) {
      if (!isBroken(error)) throw error;
    }
    throw new WebAssembly.RuntimeError('Cannot go on: the engine is broken');
  });
}

/**
 * PGlite reports a stack overflow by one of these errors, and then gives wrong results or none; so its thread is started again.
 * (serve-operations.ts)
 */
const isBroken = (error: unknown): boolean =>
  error instanceof DatabaseError ? /^(XX000|26000|08P01)$/.test(error.sqlstate) : true;
