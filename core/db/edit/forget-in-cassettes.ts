/** Deletes what cassettes stored of purged sessions: rows of their own tables that name them, with the rows that depend on them. */

import { type SQL, sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import { CALLS } from '../cassette/names.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { INSUFFICIENT_PRIVILEGE } from '../sqlstates.ts';

/**
 * A cassette's table with a column `session_id uuid` names the session of each row. A table that refuses the deletion, or that may not
 * be changed, is left to its cassette, whose views no longer show the sessions.
 */
export async function forgetInCassettes(tx: Sql, session_ids: readonly string[]): Promise<void> {
  const tables = await tx.rows<{ name: string }>(sql`
    select ${quotedName} as name
      from ${cassetteTables}
     where exists (select 1 from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'session_id' and a.atttypid = 'uuid'::regtype and not a.attisdropped)
     order by name`);
  for (const { name } of tables)
    await tx
      .transaction(async (inner) => {
        await inner.rows(sql`delete from ${sql.raw(name)} where session_id = any(${pgArray(session_ids)}::uuid[])`);
        await inner.rows(sql`set constraints all immediate`); // a deferred one would refuse the whole purge at its end
      })
      .catch(tolerated);
}

/** All tables of cassettes, quoted, with their size including indexes. */
export const tablesOfCassettes = (db: Sql): Promise<{ name: string; bytes: number }[]> =>
  db.rows<{ name: string; bytes: number }>(sql`
    select ${quotedName} as name, pg_total_relation_size(c.oid) as bytes from ${cassetteTables} order by name`);

export const quotedName: SQL = sql`format('%I.%I', n.nspname, c.relname)`;

/** A cassette's schema is recognised by the function of the same name in which its statements run. */
export const cassetteTables: SQL = sql`
  pg_class c
  join pg_namespace n on n.oid = c.relnamespace and c.relkind = 'r'
  join pg_proc p on p.proname = n.nspname and p.pronamespace = to_regnamespace(${CALLS})`;

const VIOLATIONS = '23'; // the class of all constraints: which one a foreign key reports depends on its action and the server's version

/** Ignores a refusal by a cassette's own constraints or rights. @throws anything else */
export function tolerated(error: unknown): void {
  if (!(error instanceof DatabaseError)) throw error;
  if (!error.sqlstate.startsWith(VIOLATIONS) && error.sqlstate !== INSUFFICIENT_PRIVILEGE) throw error;
}
