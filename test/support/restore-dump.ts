/** Restores a dump of PostgreSQL's `pg_dump` into an empty database without `psql`: its statements, and its COPY blocks between them. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import postgres from 'postgres';

/** @param dump as text; of each line that begins with a backslash (commands of psql) only the end of a COPY block counts */
export async function restoreDump(dsn: string, dump: string): Promise<void> {
  const sql = postgres(dsn, { max: 1, onnotice: () => {} });
  try {
    for (const { statements, copy, rows } of partsOf(dump)) {
      await sql.unsafe(statements).simple();
      if (copy !== '') await pipeline(Readable.from([rows]), await sql.unsafe(copy).writable());
    }
  } finally {
    await sql.end();
  }
}

type Part = { statements: string; copy: string; rows: string };

/** Statements, then the COPY that follows them with its rows; '' at the end. */
function partsOf(dump: string): Part[] {
  return dump.split(/^\\\.$/m).map((text) => {
    const copy = /^COPY .* FROM stdin;$/m.exec(text);
    const plain = (lines: string) => lines.replace(/^\\.*$/gm, '');
    if (!copy) return { statements: plain(text), copy: '', rows: '' };
    const rows = text.slice(copy.index + copy[0].length + 1);
    return { statements: plain(text.slice(0, copy.index)), copy: copy[0].replace(/;$/, ''), rows };
  });
}
