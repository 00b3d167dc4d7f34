/** The conversations that a database holds, in a form that does not depend on the order in which their calls came. */
import { builtIn } from '../../core/call/reader.ts';
import { openCheckedSlices } from '../../core/engine/verify/checked-slices.ts';
import { verifySession } from '../../core/engine/verify/verify-session.ts';
import type { TestDatabase } from './databases.ts';

/** Messages by hash, and traces by time; sessions by how many there are, since the first turn to come gives them their id. */
export async function storedRows(database: TestDatabase) {
  const nodes = await database.sql(`
    select encode(node_hash, 'hex') as hash, encode(parent_hash, 'hex') as parent, depth, role, call_id, is_root, is_head
      from svc.nodes order by 1`);
  const traces = await database.sql(
    'select user_prompt, response_preview, span_count, status from svc.traces order by started_at',
  );
  const [sessions] = await database.sql('select count(*)::int as n from svc.sessions where not is_empty');
  return { nodes, traces, sessions };
}

/** What does not verify. */
export async function breaks(database: TestDatabase): Promise<unknown[]> {
  const verifier = { database, reader: builtIn, slices: openCheckedSlices(database) };
  const sessions = await database.sql('select session_id from svc.sessions');
  const verified = await Promise.all(
    sessions.map(({ session_id }) => verifySession(verifier, String(session_id), null)),
  );
  return verified.flatMap((one) => [...(one?.first_breaks ?? []), ...(one && one.breaks > 0 ? [one] : [])]);
}
