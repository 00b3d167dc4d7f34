/**
 * The views of a distributed database. Citus plans few joins of a distributed table with one that is not, and lets a worker check the rights
 * of the role that reads; a cassette's statement may join views in any way, under a role that may read nothing else. So what the views read
 * of a distributed table comes through a foreign table: over another connection to the same database, as the owner of the view. Such a view
 * shows nothing of a transaction that is still open.
 */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** The foreign server that an operator makes: the coordinator itself. */
export const FOREIGN_SERVER = 'svc_coordinator';

const TABLES = ['slices', 'span_links', 'spans', 'traces'];
const VIEWS = [
  ...['svc.all_spans', 'svc.all_traces', 'svc.all_slices', 'svc.all_span_links', 'svc.fork_links'],
  ...['svc_v1.spans', 'svc_v1.span_turns', 'svc_v1.span_links'],
];

/**
 * Makes what is missing or not as this version wants it, which a migration may have changed. In a transaction that others wait for.
 * Where nothing is to be done it locks nothing, since a view that is made waits for all who read it.
 */
export async function makeRemoteViews(tx: Sql): Promise<void> {
  await tx.rows(sql`set local search_path = pg_catalog`); // so that definitions name the schemas
  await tx.rows(sql`set local citus.enable_ddl_propagation = off`); // the workers have no use for them
  if (await isCurrent(tx)) return;
  for (const view of VIEWS) await redefine(tx, view, (definition) => definition.replaceAll('svc_remote.', 'svc.'));
  await tx.script('drop schema if exists svc_remote cascade; create schema svc_remote');
  const tables = sql.join(
    TABLES.map((table) => sql.identifier(table)),
    sql`, `,
  );
  await tx.rows(sql`
    import foreign schema svc limit to (${tables}) from server ${sql.identifier(FOREIGN_SERVER)} into svc_remote
           options (import_default 'false', import_generated 'false')`);
  for (const view of VIEWS) await redefine(tx, view, remote);
}

/** Whether the foreign tables have the columns of the tables, and all views read what they should. */
async function isCurrent(tx: Sql): Promise<boolean> {
  const [columns] = await tx.rows<{ same: boolean }>(sql`
    select count(*) > 0 and count(*) filter (where c.tables < 2) = 0 as same
      from (select a.attname, c.relname, a.atttypid, count(*) as tables
              from pg_class c
              join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
             where c.relnamespace in (to_regnamespace('svc'), to_regnamespace('svc_remote'))
               and c.relname in ('slices', 'span_links', 'spans', 'traces')
             group by 1, 2, 3) c`);
  if (!columns?.same) return false;
  for (const view of VIEWS) {
    const definition = await definitionOf(tx, view);
    if (remote(definition) !== definition) return false;
  }
  return true;
}

/** Rows of deleted sessions are left out by a list of these: a join would be made by the other connection as well. */
const remote = (definition: string): string =>
  definition
    .replace(/\bsvc\.(slices|span_links|spans|traces)\b/g, 'svc_remote.$1')
    .replace(
      /NOT \(EXISTS \( SELECT\s+1\s+FROM svc\.session_edits (\w+)\s+WHERE \(\(\1\.session_id = (\w+)\.session_id\) AND \(\1\.deleted_at IS NOT NULL\)\)\)\)/g,
      'NOT ($2.session_id IN ( SELECT d.session_id FROM svc.session_edits d WHERE (d.deleted_at IS NOT NULL)))',
    );

async function definitionOf(tx: Sql, view: string): Promise<string> {
  const [row] = await tx.rows<{ definition: string }>(sql`select pg_get_viewdef(${view}::regclass) as definition`);
  return row?.definition ?? '';
}

async function redefine(tx: Sql, view: string, change: (definition: string) => string): Promise<void> {
  await tx.rows(sql.raw(`create or replace view ${view} as ${change(await definitionOf(tx, view))}`));
}
