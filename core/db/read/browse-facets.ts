/** The values of an attribute among the sessions that match a filter, each with how many of them have it. */
import { type SQL, sql } from 'drizzle-orm';
import type { Facet, FacetField, SessionFilter } from '../../model/browse.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { matching, rollupsFor } from './session-filter.ts';

/** The values of most sessions first. A filter by the field itself does not count: its other values could not be chosen then. */
export function browseFacets(
  db: Sql,
  { field, filter, limit }: { field: FacetField; filter: SessionFilter; limit: number },
): Promise<Facet[]> {
  const others = { ...filter, [field]: null };
  const { value, joined } = FIELDS[field];
  const rollups = value.startsWith('f.')
    ? sql` left join svc.session_rollups f on f.session_id = s.session_id`
    : rollupsFor(others);
  return db.rows<Facet>(sql`
    select g.value, g.sessions, ${instant(sql`g.last_seen_at`)} as last_seen_at
      from (select ${sql.raw(value)} as value, count(*) as sessions, max(s.last_seen_at) as last_seen_at
              from svc.sessions s${joined}${rollups}
             where not s.is_empty and ${notDeleted(sql`s.session_id`)} and ${sql.raw(value)} <> ''${matching(others)}
             group by 1) g
     order by g.sessions desc, g.value
     limit ${limit}`);
}

/** In the order of the index, so that each session's calls are skipped as they are read, and none of them has to be held. */
const ofCalls = (column: 'model' | 'provider'): { value: string; joined: SQL } => ({
  value: 'v.value',
  joined: sql` join (select p.${sql.identifier(column)} as value, p.session_id
                       from svc.all_spans p where p.kind = 'llm'
                      group by p.${sql.identifier(column)}, p.session_id
                      order by p.${sql.identifier(column)}, p.session_id) v on v.session_id = s.session_id`,
});

const FIELDS: Record<FacetField, { value: string; joined: SQL }> = {
  project: { value: 'f.project', joined: sql`` },
  agent_name: { value: 'f.agent_name', joined: sql`` },
  harness_id: { value: 's.harness_id', joined: sql`` },
  model: ofCalls('model'),
  provider: ofCalls('provider'),
};
