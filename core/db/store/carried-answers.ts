/** Which messages are answers that a request brought along, of a call that its session does not hold? */
import { type SQL, sql } from 'drizzle-orm';

/**
 * Of a row of `svc.nodes`. It has a piece of a request's body as long as no call that gave it came. That two calls' clocks may differ
 * is why it is looked for as well: the row tells only of the one that says it was first. (The index nodes_brought_along.)
 */
export const isCarriedAnswer = (node: SQL): SQL => sql`
  ${node}.slice_id is not null and ${node}.role = 'assistant' and ${node}.injected = ''
    and not exists (select from svc.calls g where g.session_id = ${node}.session_id and g.leaf_hash = ${node}.node_hash)`;
