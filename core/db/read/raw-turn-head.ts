/** The columns of a raw turn's head: its facts and sizes, of `svc.raw_turns t` as `svc.effective_turns a` attributes it. */
import { sql } from 'drizzle-orm';
import type { RawTurnHead } from '../../model/raw-turn.ts';
import { instant } from '../literals.ts';
import type { Sparse } from './present.ts';

export type RawTurnColumns = Sparse<RawTurnHead>;

export const rawTurnHead = sql`
  t.raw_turn_id, t.svc_proxy_request_id, t.request_id, t.source, a.session_id, t.session_seq, t.outcome, t.ending,
  nullif(t.provider, '') as provider, nullif(t.format, '') as format, nullif(t.method, '') as method,
  nullif(t.url, '') as url, t.status, t.harness_id, t.harness_session_id, nullif(a.thread_id, '') as thread_id,
  nullif(t.identity ->> 'agent_name', '') as agent_name, ${instant(sql`t.requested_at`)} as requested_at,
  ${instant(sql`t.first_byte_at`)} as first_byte_at, ${instant(sql`t.last_byte_at`)} as last_byte_at,
  ${instant(sql`t.received_at`)} as received_at, t.request_bytes, t.response_bytes,
  encode(t.turn_hash, 'hex') as turn_hash, encode(t.prev_hash, 'hex') as prev_hash,
  nullif(t.meta, '{}') as meta`;
