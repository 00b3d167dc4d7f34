/** Reads calls that were set aside, so that they can be stored after all. */
import { sql } from 'drizzle-orm';
import type { CallClosed, CallOpened, JournalCall, ResponseHead } from '../../capture/journal-format.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { isPurged } from './purged-session.ts';

/** Of a call `t`, that it was set aside since the last purge: one from before may belong to the purged session, and must not come back. */
const sinceLastPurge = sql`
  t.parked_at > coalesce((
    select max(b.created_at)
      from svc.session_edits e
      join svc.sessions s on s.session_id = e.session_id
      join svc.tombstones b on b.purged_session_id = s.session_id
     where ${isPurged}), '-infinity')`;

/** The ids of those set aside since the last purge. */
export async function parkedCalls(db: Sql, _: Record<string, never>): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select t.svc_proxy_request_id as id from svc.parked_turns t where ${sinceLastPurge} order by 1`);
  return rows.map(({ id }) => id);
}

type ParkedRow = {
  head: CallOpened;
  request_body: Uint8Array;
  response_head: ResponseHead | null;
  response_body: Uint8Array;
  closed: CallClosed | null;
};

/** null: it is not set aside any more, or there was a purge meanwhile. */
export async function parkedCall(db: Sql, { id }: { id: string }): Promise<JournalCall | null> {
  const [row] = await db.rows<ParkedRow>(sql`
    select t.head, t.request_body, t.response_head, t.response_body, t.closed
      from svc.parked_turns t
     where t.svc_proxy_request_id = ${id} and ${sinceLastPurge}`);
  if (!row) return null;
  const { head, request_body, response_head, response_body, closed } = row;
  return { opened: head, request: request_body, responseHead: response_head, response: response_body, closed };
}

/** Within the transaction that stores the calls: they are no longer set aside, nor counted so. */
export async function unpark(tx: Sql, ids: readonly string[]): Promise<void> {
  await tx.rows(sql`
    with gone as (
      delete from svc.parked_turns where svc_proxy_request_id = any(${pgArray(ids)}::text[])
      returning left(head ->> 'requested_at', 10)::date as day, head ->> 'provider' as provider)
    update svc.coverage c set requests = c.requests - g.requests
      from (select day, provider, count(*) as requests from gone group by 1, 2) g
     where c.day = g.day and c.provider = g.provider and c.outcome = 'poison'`);
  await tx.rows(sql`delete from svc.coverage where outcome = 'poison' and requests = 0`);
}
