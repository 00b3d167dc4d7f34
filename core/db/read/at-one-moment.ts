/** A read of several statements that sees the database at one moment. */
import type { Sql } from '../sql.ts';

const NO_TRACE = `'00000000-0000-0000-0000-000000000000'`;

/**
 * Each node of a distributed database takes its moment when it is first read. So all are at once: the workers here and, through a view, over
 * the second connection (core/db/distribute). Elsewhere these are two reads of an index.
 */
const BEGINNING = `
  set transaction isolation level repeatable read, read only;
  select 1 from svc.traces where trace_id = ${NO_TRACE}
  union all
  select 1 from svc.all_traces where trace_id = ${NO_TRACE}`;

/** @param work only reads */
export const atOneMoment = <T>(db: Sql, work: (tx: Sql) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    await tx.script(BEGINNING);
    return work(tx);
  });
