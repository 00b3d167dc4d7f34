/** Who asked, as the latest correction has it? What a turn said of itself, with the names that were put right. */
import { type SQL, sql } from 'drizzle-orm';

/**
 * The identity of a turn `t` that counts for the session `s`. An agent that nobody named is called after its harness, and so is then
 * called after the right one.
 * @param corrected whether a correction stands
 */
export const effectiveIdentity = (corrected: SQL, thread_id: SQL, parent_harness_session_id: SQL): SQL => sql`
  case when ${corrected} then t.identity || jsonb_build_object(
    'harness_id', s.harness_id, 'harness_session_id', s.harness_session_id, 'thread_id', ${thread_id},
    'parent_harness_session_id', ${parent_harness_session_id}, 'agent_name', ${effectiveAgent(corrected)}) else t.identity end`;

export const effectiveAgent = (corrected: SQL): SQL => sql`
  case when ${corrected} and t.identity ->> 'agent_name' = coalesce(nullif(t.harness_id, 'unknown'), '')
       then coalesce(nullif(s.harness_id, 'unknown'), '') else t.identity ->> 'agent_name' end`;
