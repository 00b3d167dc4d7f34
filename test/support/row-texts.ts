/** A database made by a test, in the form in which a cassette gets it: its rows are texts as well. */
import type { Db } from '../../core/cassette/contract.ts';
import type { HandedDb } from '../../core/cassette/running.ts';

export const withRowTexts = (db: Db): HandedDb => ({
  query: db.query,
  stream: db.stream,
  async queryTexts(sql, parameters, options) {
    const { rows, row_count } = await db.query(sql, parameters, options as never);
    const changed = rows.length === row_count ? null : row_count;
    return { texts: rows.map((row) => JSON.stringify(row)), changed };
  },
  async *streamTexts(sql, parameters, options) {
    for await (const row of db.stream(sql, parameters, options as never)) yield [JSON.stringify(row)];
  },
});
