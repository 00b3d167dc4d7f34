/** Parks a call that the database refuses as a turn: stored aside, with its bytes and the reason, so that intake goes on. */
import { sql } from 'drizzle-orm';
import type { CallOpened, JournalPosition } from '../../capture/journal-format.ts';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { countCoverage } from './count-coverage.ts';
import { storePosition } from './journal-positions.ts';

export type CallToPark = {
  opened: CallOpened;
  request: Uint8Array;
  response: Uint8Array;
  reason: string; // names the error, quotes nothing
  position: JournalPosition | null;
};

/** Counts the call as `poison`, once. */
export const parkTurn = (db: Sql, { opened, request, response, reason, position }: CallToPark): Promise<null> =>
  db.transaction(async (tx) => {
    const parked = await tx.rows(sql`
      insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_body)
      values (${opened.svc_proxy_request_id}, ${reason}, ${jsonText(opened)}::jsonb, ${request}, ${response})
      on conflict (svc_proxy_request_id) do nothing
      returning svc_proxy_request_id`);
    const { requested_at: at, provider } = opened;
    if (parked.length > 0) await countCoverage(tx, [{ at, provider, outcome: 'poison' }]);
    if (position) await storePosition(tx, position);
    return null;
  });
