/** Carried answers: messages of a model in a request's history, of a call that the session does not hold. */
import { type SQL, sql } from 'drizzle-orm';

/**
 * The condition for a row of `svc.nodes`. Its slice is one of a request's body as long as the call that gave the answer has not come.
 * The call is looked for as well, since clocks may differ: the row has only the call with the earlier time. (Index nodes_brought_along.)
 */
export const isCarriedAnswer = (node: SQL): SQL => sql`
  ${node}.slice_id is not null and ${node}.role = 'assistant' and ${node}.injected = ''
    and not exists (select 1 from svc.calls g where g.session_id = ${node}.session_id and g.leaf_hash = ${node}.node_hash)`;
