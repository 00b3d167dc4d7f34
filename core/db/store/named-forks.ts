/** Where does a session come from whose first call brings another session's history along? Its deepest answer that another one holds says so. */
import { sql } from 'drizzle-orm';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { Placement, Unplaced } from './place-turns.ts';

type Opening = Pick<Unplaced, 'identity' | 'nodes'> & { place: Pick<Placement, 'session_id'> };

/** So many answers from the end: a harness goes on from the last one, or from a little before it. */
const MOST_ANSWERS = 32;

/**
 * Notes it of sessions that these turns have opened and that name themselves, as those do that Claude Code makes with
 * `--fork-session`; one without a name is placed by its content as it is (`place-turns.ts`). Of several that hold the answer the one
 * that ends with it, then the oldest. The turns' nodes are stored.
 */
export async function noteNamedForks(tx: Sql, turns: readonly Opening[], opened: ReadonlySet<string>): Promise<void> {
  const answers = turns.flatMap(({ identity, nodes, place: { session_id } }) =>
    identity.harness_session_id === '' || !opened.has(session_id)
      ? []
      : nodes.messages
          .filter(({ role, injected }) => role === 'assistant' && injected === '')
          .slice(-MOST_ANSWERS)
          .map(({ node_hash, depth }) => ({ session_id, depth, node_hash: `\\x${node_hash}` })),
  );
  if (answers.length === 0) return;
  await tx.rows(sql`
    with found as (
      select distinct on (a.session_id) a.session_id, o.session_id as origin, a.node_hash
        from json_to_recordset(${jsonText(answers)}::json) as a (session_id uuid, depth integer, node_hash bytea)
        join svc.sessions s on s.session_id = a.session_id
        join svc.nodes n on n.node_hash = a.node_hash and n.session_id <> a.session_id
        join svc.sessions o on o.session_id = n.session_id and o.harness_id = s.harness_id and o.auth_subject = s.auth_subject
       where o.started_at < s.started_at and not o.is_empty
       order by a.session_id, a.depth desc, n.is_head desc, o.started_at, o.session_id)
    update svc.sessions s set fork_of_session_id = f.origin, fork_of_node_hash = f.node_hash
      from found f
     where s.session_id = f.session_id and s.fork_of_session_id is null`);
}
