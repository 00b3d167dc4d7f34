/** Every derived row of a service that has stopped, on either kind of database, to be compared as a whole. */

import { openPool } from '../../core/db/client/server.ts';
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';
import { startTestThread } from './databases.ts';
import { rawSql } from './raw-sql.ts';

/** Without the state of the fold, whose checkpoints depend on the order of arrival, and without revisions, which do too. */
const TABLES = ['sessions', 'calls', 'nodes', 'session_rollups', 'traces', 'spans', 'span_links'];

type Rows = Record<string, unknown>[];

/** The rows, each as `<table> <row as JSON>`. @param dsn empty for the embedded database in `folder`, a `.svc` */
export async function derivedRows({ dsn, folder }: { dsn: string; folder: string }): Promise<string[]> {
  const { rows, close } = dsn === '' ? await embedded(folder) : server(dsn);
  try {
    const found: string[] = [];
    for (const table of TABLES) {
      const lines = await rows(`select (to_jsonb(x) - 'rev')::text as line from svc.${table} x order by 1`);
      found.push(...lines.map(({ line }) => `${table} ${line}`));
    }
    return found;
  } finally {
    await close();
  }
}

async function embedded(folder: string) {
  const database = await openDatabase({
    dsn: '',
    pooled: false,
    folder,
    log: openLog('silent'),
    startThread: startTestThread,
  });
  const execute = database.execute as unknown as (name: string, args: unknown) => Promise<Rows>;
  return { rows: (text: string) => execute('rawSql', { text, params: [] }), close: () => database.close() };
}

function server(dsn: string) {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  const sql = pool.sqlFor(60_000);
  return { rows: (text: string): Promise<Rows> => rawSql(sql, { text, params: [] }), close: pool.close };
}
