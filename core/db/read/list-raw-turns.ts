/** The raw turns of a session: their facts and sizes in the order in which they were stored, without bytes. */
import { type SQL, sql } from 'drizzle-orm';
import type { RawTurnHead } from '../../model/raw-turn.ts';
import type { Sql } from '../sql.ts';
import { present } from './present.ts';
import { type RawTurnColumns, rawTurnHead } from './raw-turn-head.ts';

/** One page. `next` is the raw_turn_id of its last record, null on the last page. A corrected record is listed in the session it was moved to. */
export async function listRawTurns(
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: number | null; limit: number },
): Promise<{ raw_turns: RawTurnHead[]; next: number | null }> {
  const afterId = (id: SQL) => (after === null ? sql`` : sql`and ${id} > ${after}`);
  const page = sql`order by raw_turn_id limit ${limit + 1}`;
  // Two disjoint lists, each in the order of an index: turns without a correction, and turns whose newest correction leads here.
  // The conditions are subqueries, since a join might read all corrections that there are.
  const rows = await db.rows<RawTurnColumns>(sql`
    select ${rawTurnHead}
      from ((select r.raw_turn_id
               from svc.raw_turns r
              where r.session_id = ${session_id}::uuid ${afterId(sql`r.raw_turn_id`)}
                and (select k.correction_id from svc.raw_turn_corrections k where k.raw_turn_id = r.raw_turn_id limit 1) is null
              ${page})
            union all
            (select k.raw_turn_id
               from svc.raw_turn_corrections k
              where k.session_id = ${session_id}::uuid ${afterId(sql`k.raw_turn_id`)}
                and k.correction_id
                    = (select max(n.correction_id) from svc.raw_turn_corrections n where n.raw_turn_id = k.raw_turn_id)
              ${page})
            ${page}) c
      join svc.effective_turns a on a.raw_turn_id = c.raw_turn_id
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
     order by t.raw_turn_id`);
  const shown = rows.slice(0, limit);
  return {
    raw_turns: shown.map((row) => present<RawTurnHead>(row)),
    next: rows.length > limit ? (shown.at(-1)?.raw_turn_id ?? null) : null,
  };
}
