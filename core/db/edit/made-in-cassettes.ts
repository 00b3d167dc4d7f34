/** Rows that cassettes made of several sessions, such as skills. For purged sessions the unedited ones are deleted, and all are named. */
import { type SQL, sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { cassetteTables, quotedName, tolerated } from './forget-in-cassettes.ts';

/** A row of a cassette. `removed`: false where people edited it, or it could not be deleted; then it may still hold purged content. */
export type MadeOfSession = { cassette: string; table: string; id: string; name: string; removed: boolean };

/** At most so many are named of a table; there is no limit to the deletion. */
const MOST_NAMED = 1_000;

type Table = { cassette: string; table: string; quoted: string; sessions: string; type: 'uuid' | 'text' } & Columns;
/** Which optional columns the table has. */
type Columns = { key: boolean; called: boolean; edited: boolean };

/**
 * A cassette's table names in a column `…session_ids` (`uuid[]` or `text[]`) the sessions that its rows were made of. A row is deleted when
 * its column `edited boolean` is false. Each is named by its columns `id` and `name`, where it has them.
 */
export async function removeMadeInCassettes(tx: Sql, session_ids: readonly string[]): Promise<MadeOfSession[]> {
  const made: MadeOfSession[] = [];
  for (const table of await tablesOfMade(tx)) {
    const removed = table.edited ? await rowsOf(tx, table, deleting(table, session_ids)) : [];
    const left = await rowsOf(tx, table, reading(table, session_ids));
    made.push(...removed.map((row) => ({ ...row, removed: true })), ...left.map((row) => ({ ...row, removed: false })));
  }
  return made;
}

const tablesOfMade = (tx: Sql): Promise<Table[]> =>
  tx.rows<Table>(sql`
    select replace(substr(n.nspname, length('cassette_') + 1), '_', '-') as cassette, c.relname as "table",
           ${quotedName} as quoted, format('%I', a.attname) as sessions,
           case a.atttypid when 'uuid[]'::regtype then 'uuid' else 'text' end as type,
           ${hasColumn('id', `'{uuid,text,int4,int8}'`)} as key, ${hasColumn('name', `'{text,varchar}'`)} as called,
           ${hasColumn('edited', `'{bool}'`)} as edited
      from ${cassetteTables}
      join pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.attnum > 0
       and a.attname like '%session\\_ids' and a.atttypid in ('uuid[]'::regtype, 'text[]'::regtype)
     order by quoted, sessions`);

const hasColumn = (column: string, types: string): SQL => sql`
  exists (select 1 from pg_attribute h where h.attrelid = c.oid and h.attname = ${column} and not h.attisdropped
             and h.atttypid = any(${sql.raw(types)}::regtype[]))`;

/** In a savepoint, so that a refusal by the table's constraints does not fail the purge: then the rows stay, and are named. */
async function rowsOf(tx: Sql, { cassette, table }: Table, rows: SQL): Promise<Omit<MadeOfSession, 'removed'>[]> {
  let found: { id: string; name: string }[] = [];
  await tx
    .transaction(async (inner) => {
      const seen = await inner.rows<{ id: string; name: string }>(rows);
      await inner.rows(sql`set constraints all immediate`); // a deferred one would refuse the whole purge at its end
      found = seen;
    })
    .catch(tolerated);
  return found.map(({ id, name }) => ({ cassette, table, id, name }));
}

const deleting = (table: Table, session_ids: readonly string[]): SQL => sql`
  with gone as (
    delete from ${sql.raw(table.quoted)} r where ${mentionsSession(table, session_ids)} and not r.edited returning ${named(table)})
  select id, name from gone limit ${MOST_NAMED}`;

const reading = (table: Table, session_ids: readonly string[]): SQL => sql`
  select ${named(table)} from ${sql.raw(table.quoted)} r where ${mentionsSession(table, session_ids)} limit ${MOST_NAMED}`;

const named = ({ key, called }: Table): SQL => sql`
  ${key ? sql`left(r.id::text, 200)` : sql`''`} as id, ${called ? sql`left(r.name::text, 200)` : sql`''`} as name`;

const mentionsSession = ({ sessions, type }: Table, session_ids: readonly string[]): SQL =>
  sql`r.${sql.raw(sessions)} && ${pgArray(session_ids)}::${sql.raw(type)}[]`;
