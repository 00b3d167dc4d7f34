/** The root of the conversation that a node belongs to: found by its ancestors, one after the other. */
import { sql } from 'drizzle-orm';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

export type NodeKey = { session_id: string; node_hash: string };

/** In the order of `nodes`: the hash of the first ancestor that is stored; null for a node that is not. */
export async function nodeRoots(db: Sql, { nodes }: { nodes: readonly NodeKey[] }): Promise<(string | null)[]> {
  if (nodes.length === 0) return [];
  const found = await db.rows<{ place: number; root_hash: string }>(sql`
    with recursive line as (
      select k.place, 0 as step, n.session_id, n.node_hash, n.parent_hash
        from unnest(${pgArray(nodes.map(({ session_id }) => session_id))}::uuid[],
                    ${hexArray(nodes.map(({ node_hash }) => node_hash))}::bytea[],
                    ${pgArray([...nodes.keys()])}::integer[]) as k (session_id, node_hash, place)
        join svc.nodes n on n.session_id = k.session_id and n.node_hash = k.node_hash
      union all
      select l.place, l.step + 1, n.session_id, n.node_hash, n.parent_hash
        from line l
        join svc.nodes n on n.session_id = l.session_id and n.node_hash = l.parent_hash
    )
    select distinct on (place) place, encode(node_hash, 'hex') as root_hash from line order by place, step desc`);
  const roots = new Map(found.map(({ place, root_hash }) => [place, root_hash]));
  return nodes.map((_, place) => roots.get(place) ?? null);
}
