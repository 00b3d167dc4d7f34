/** The stored nodes and calls of a session, page by page, to be compared with the result of reading its turns again. */
import { type SQL, sql } from 'drizzle-orm';
import type { CallRow, NodeRow } from '../../model/node.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `turn_counts`: the raw turn that the row points to is of the session; `turn_stored`: it exists at all. */
type RowsTurn = { raw_turn_id: number; turn_counts: boolean; turn_stored: boolean };

/** Without the price, which the operator's price file decides. `parent_stands`: true of a root too. */
export type StoredNode = Omit<NodeRow, 'cost_usd'> & RowsTurn & { parent_stands: boolean };

/** In the order of their hashes. */
export async function nodeChain(
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: string | null; limit: number },
): Promise<StoredNode[]> {
  const afterHash: SQL = after === null ? sql`true` : sql`n.node_hash > decode(${after}, 'hex')`;
  return db.rows<StoredNode>(sql`
    select encode(n.node_hash, 'hex') as node_hash, encode(n.parent_hash, 'hex') as parent_hash, n.depth, n.role, n.injected,
           n.tool_calls, encode(n.slice_id, 'hex') as slice_id, n.raw_turn_id, n.call_id, n.position, n.model, n.provider,
           n.agent_name, n.project, n.stop_reason, n.input_tokens, n.output_tokens, n.cache_read_tokens, n.cache_write_5m_tokens,
           n.cache_write_1h_tokens, n.reasoning_tokens, ${instant(sql`n.requested_at`)} as requested_at,
           ${instant(sql`n.created_at`)} as created_at,
           n.parent_hash is null or exists (
             select 1 from svc.nodes p where p.session_id = n.session_id and p.node_hash = n.parent_hash) as parent_stands,
           ${turnCounts(sql`n`)} as turn_counts, ${turnStored(sql`n`)} as turn_stored
      from svc.nodes n
     where n.session_id = ${session_id}::uuid and ${afterHash}
     order by n.node_hash
     limit ${limit}`);
}

/** `tip_stands`, `leaf_stands`: the node that the row names exists in the session; true where it names none. */
export type ChainedCall = CallRow & RowsTurn & { tip_stands: boolean; leaf_stands: boolean };

/** In the order of their turns. */
export const callChain = (
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: number; limit: number },
): Promise<ChainedCall[]> =>
  db.rows<ChainedCall>(sql`
    select c.raw_turn_id, encode(c.tip_hash, 'hex') as tip_hash, encode(c.leaf_hash, 'hex') as leaf_hash, c.model, c.stream,
           c.max_tokens, c.tool_count, encode(c.call_key, 'hex') as call_key, c.response_id, c.previous_response_id, c.item_ids, c.item_reference,
           c.conversation_id, c.unreadable,
           ${nodeExists(sql`c.tip_hash`)} as tip_stands, ${nodeExists(sql`c.leaf_hash`)} as leaf_stands,
           ${turnCounts(sql`c`)} as turn_counts, ${turnStored(sql`c`)} as turn_stored
      from svc.calls c
     where c.session_id = ${session_id}::uuid and c.raw_turn_id > ${after}
     order by c.raw_turn_id
     limit ${limit}`);

const nodeExists = (hash: SQL): SQL =>
  sql`${hash} is null or exists (select 1 from svc.nodes n where n.session_id = c.session_id and n.node_hash = ${hash})`;

const turnCounts = (row: SQL): SQL => sql`exists (
  select 1 from svc.effective_turns e where e.raw_turn_id = ${row}.raw_turn_id and e.session_id = ${row}.session_id)`;

const turnStored = (row: SQL): SQL =>
  sql`exists (select 1 from svc.raw_turns r where r.raw_turn_id = ${row}.raw_turn_id)`;
