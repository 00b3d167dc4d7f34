/** The calls of a session with which a conversation goes on after a compaction. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

export const compactionSeams = async (db: Sql, { session_id }: { session_id: string }): Promise<number[]> =>
  (
    await db.rows<{ raw_turn_id: number }>(sql`
      select p.raw_turn_id
        from svc.span_links l
        join svc.spans p on p.session_id = l.session_id and p.trace_id = l.to_trace_id and p.span_id = l.to_span_id
       where l.session_id = ${session_id}::uuid and l.kind = 'compaction-seam' and p.raw_turn_id is not null`)
  ).map(({ raw_turn_id }) => raw_turn_id);
