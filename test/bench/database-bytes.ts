/** What does a service's database weigh on disk: its tables with their indexes, and its write-ahead log? */
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { sql } from 'drizzle-orm';
import { openPool } from '../../core/db/client/server.ts';

/** `log`: of the embedded database alone; a server's is its own affair. @param dsn of the server; none: the database is in the folder */
export async function databaseBytes(folder: string, dsn?: string): Promise<{ tables: number; log: number }> {
  if (dsn) return { tables: await serverBytes(dsn), log: 0 };
  const sizes = { tables: 0, log: 0 };
  const data = join(folder, '.svc/data');
  for (const path of await readdir(data, { recursive: true })) {
    const found = await stat(join(data, path)).catch(() => null); // a file of the log may be gone by now
    if (!found?.isFile()) continue;
    sizes[path.split(sep).includes('pg_wal') ? 'log' : 'tables'] += found.size;
  }
  return sizes;
}

async function serverBytes(dsn: string): Promise<number> {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  try {
    const [found] = await pool
      .sqlFor(60_000)
      .rows<{ bytes: number }>(sql`select pg_database_size(current_database())::double precision as bytes`);
    return Number(found?.bytes ?? 0);
  } finally {
    await pool.close();
  }
}
