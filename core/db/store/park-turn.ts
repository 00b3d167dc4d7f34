/** Parks a call that the database refuses as a turn: stored aside, with its bytes and the reason, so that intake goes on. */
import { sql } from 'drizzle-orm';
import type { JournalCall, JournalPosition } from '../../capture/journal-format.ts';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { TurnBatch } from './append-turns.ts';
import { countCoverage } from './count-coverage.ts';
import { holdPositions, storePosition } from './journal-positions.ts';

/** `reason` names the error, and quotes nothing. */
export type CallToPark = { call: JournalCall; reason: string; position: JournalPosition | null } & Pick<
  TurnBatch,
  'committed'
>;

/** Counts the call as `poison`, once. @throws {DatabaseError} JOURNAL_SET_BACK (journal-positions.ts) */
export const parkTurn = (db: Sql, { call, reason, position, committed = [] }: CallToPark): Promise<null> =>
  db.transaction(async (tx) => {
    await holdPositions(tx, committed);
    const { opened, request, responseHead, response, closed } = call;
    const parked = await tx.rows(sql`
      insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_head, response_body, closed)
      values (${opened.svc_proxy_request_id}, ${reason}, ${jsonText(opened)}::jsonb, ${request},
              ${responseHead && jsonText(responseHead)}::jsonb, ${response}, ${closed && jsonText(closed)}::jsonb)
      on conflict (svc_proxy_request_id) do nothing
      returning svc_proxy_request_id`);
    const { requested_at: at, provider } = opened;
    if (parked.length > 0) await countCoverage(tx, [{ at, provider, outcome: 'poison' }]);
    if (position) await storePosition(tx, position);
    return null;
  });
