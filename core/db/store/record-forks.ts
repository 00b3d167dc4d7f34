/** The origin of a session whose first call contains another session's history: found by its deepest answer that another session holds. */
import { sql } from 'drizzle-orm';
import type { Placement, Unplaced } from '../../call/placement.ts';
import { jsonText } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { isCarriedAnswer } from './carried-answers.ts';

type Placed = Pick<Unplaced, 'identity' | 'nodes' | 'requested_at'> & { place: Pick<Placement, 'session_id'> };

/** So many answers from the end are compared: a harness continues from the last one, or from a little before it. */
const MOST_ANSWERS = 32;

/**
 * Records the origin of named sessions that these turns have opened, such as those that Claude Code makes with `--fork-session`;
 * unnamed ones are placed by their content (`place-turns.ts`). Of several sessions that hold the answer, the one that ends with it is
 * taken, then the oldest. The turns' nodes have to be stored before.
 */
export async function recordNamedForks(tx: Sql, turns: readonly Placed[], opened: ReadonlySet<string>): Promise<void> {
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

/**
 * The same for forks that came before their origin did: they hold an answer that one of these turns gave, and not the call itself.
 * The deepest such answer decides, in whatever order the origin's calls come. Call it last in its transaction, as `recordChange`.
 */
export async function recordForksBefore(tx: Sql, turns: readonly Placed[]): Promise<void> {
  const answers = turns.flatMap(({ identity, nodes: { answer }, requested_at, place: { session_id } }) =>
    identity.harness_session_id === '' || !answer
      ? []
      : { session_id, requested_at, node_hash: `\\x${answer.node_hash}` },
  );
  if (answers.length === 0) return;
  const forks = await tx.rows<{ session_id: string }>(sql`
    with found as (
      select distinct on (f.session_id) f.session_id, g.session_id as origin, g.node_hash
        from json_to_recordset(${jsonText(answers)}::json) as g (session_id uuid, requested_at timestamptz, node_hash bytea)
        join svc.sessions o on o.session_id = g.session_id
        join svc.nodes n on n.node_hash = g.node_hash and n.session_id <> g.session_id and ${isCarriedAnswer(sql`n`)}
        join svc.sessions f on f.session_id = n.session_id and f.harness_id = o.harness_id and f.auth_subject = o.auth_subject
        left join svc.nodes known on known.session_id = f.session_id and known.node_hash = f.fork_of_node_hash
       where g.requested_at < n.requested_at and o.started_at < f.started_at
         and (f.fork_of_session_id is null or known.depth < n.depth)
       order by f.session_id, n.depth desc, o.started_at, o.session_id)
    update svc.sessions s set fork_of_session_id = d.origin, fork_of_node_hash = d.node_hash
      from found d
     where s.session_id = d.session_id
    returning s.session_id`);
  await recordChange(
    tx,
    forks.map(({ session_id }) => session_id),
  );
}
