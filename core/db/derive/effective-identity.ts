/** The identity of a turn according to its latest correction: as captured, with the corrected names. */
import { type SQL, sql } from 'drizzle-orm';

/**
 * The identity of a turn `t` that counts for the session `s`. An agent without a name of its own has that of its harness, and so gets
 * the corrected harness's name.
 * @param corrected whether the turn has a correction
 */
export const effectiveIdentity = (corrected: SQL, thread_id: SQL, parent_harness_session_id: SQL): SQL => sql`
  case when ${corrected} then t.identity || jsonb_build_object(
    'harness_id', s.harness_id, 'harness_session_id', s.harness_session_id, 'thread_id', ${thread_id},
    'parent_harness_session_id', ${parent_harness_session_id}, 'agent_name', ${effectiveAgent(corrected)}) else t.identity end`;

export const effectiveAgent = (corrected: SQL): SQL => sql`
  case when ${corrected} and t.identity ->> 'agent_name' = coalesce(nullif(t.harness_id, 'unknown'), '')
       then coalesce(nullif(s.harness_id, 'unknown'), '') else t.identity ->> 'agent_name' end`;
