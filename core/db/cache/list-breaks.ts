/** The breaks of the prompt cache over all sessions: sums by a key, a page of them, and how many sessions they are of. */
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { storable } from '../../derive/storable.ts';
import type { BreaksPage, BreaksQuery, CacheBreak } from '../../model/cache-break.ts';
import type { Sql } from '../sql.ts';

export type BreakFilter = Pick<
  z.output<typeof BreaksQuery>,
  'since' | 'until' | 'project' | 'agent_name' | 'model' | 'by'
>;
export type BreakCursor = { at: string; session_id: string; raw_turn_id: number };

/** Harness and version as one text, as people write it. */
const KEYS: Record<BreakFilter['by'], SQL> = {
  cause: sql`b.cause`,
  project: sql`coalesce(f.project, '')`,
  harness: sql`concat_ws(' ', nullif(s.harness_id, ''), nullif(f.harness_version, ''))`,
};
const MOST_GROUPS = 200;

/** `totals`: over all groups, also those beyond the page. `lost_usd` null: nothing has a price. */
export type ListedBreaks = Omit<BreaksPage, 'next_cursor'> & {
  totals: { breaks: number; lost_usd: number | null };
  next: BreakCursor | null;
};

type GroupRow = BreaksPage['groups'][number] & { all_breaks: number; all_lost_usd: number | null };

export async function listBreaks(
  db: Sql,
  { filter, rules, after, limit }: { filter: BreakFilter; rules: number; after: BreakCursor | null; limit: number },
): Promise<ListedBreaks> {
  const from = sql`
      from svc.cache_breaks b
      join svc.sessions s on s.session_id = b.session_id and not s.is_empty
      left join svc.session_rollups f on f.session_id = b.session_id
     where not exists (select 1 from svc.session_edits e where e.session_id = b.session_id and e.deleted_at is not null)
           ${matching(filter)}`;
  const groups = await db.rows<GroupRow>(sql`
    select ${KEYS[filter.by]} as key, b.cause, count(*)::int as breaks, sum(b.rewritten_tokens)::bigint as rewritten_tokens,
           sum(b.lost_usd)::double precision as lost_usd,
           (sum(count(*)) over ())::int as all_breaks, (sum(sum(b.lost_usd)) over ())::double precision as all_lost_usd
    ${from}
     group by 1, 2
     order by sum(b.lost_usd) desc nulls last, sum(b.rewritten_tokens) desc, 1, 2
     limit ${MOST_GROUPS}`);
  const before = after
    ? sql`and (b.at, b.session_id, b.raw_turn_id) < (${after.at}::timestamptz, ${after.session_id}::uuid, ${after.raw_turn_id})`
    : sql``;
  const rows = await db.rows<{ break: CacheBreak }>(sql`
    select b.break ${from} ${before} order by b.at desc, b.session_id desc, b.raw_turn_id desc limit ${limit + 1}`);
  const [counts] = await db.rows<{ sessions: number; waiting: number }>(sql`
    select count(*) filter (where r.session_id is not null)::int as sessions,
           count(*) filter (where r.changed_by is distinct from c.changed_by or r.rules <> ${rules})::int as waiting
      from svc.session_changes c
      join svc.sessions s on s.session_id = c.session_id and not s.is_empty
      left join svc.cache_reviews r on r.session_id = c.session_id
     where not exists (select 1 from svc.session_edits e where e.session_id = c.session_id and e.deleted_at is not null)`);
  const items = rows.slice(0, limit).map((row) => row.break);
  const last = items.at(-1);
  return {
    groups: groups.map(({ all_breaks: _breaks, all_lost_usd: _usd, ...group }) => group),
    totals: { breaks: groups[0]?.all_breaks ?? 0, lost_usd: groups[0]?.all_lost_usd ?? null },
    items,
    sessions: counts?.sessions ?? 0,
    sessions_waiting: counts?.waiting ?? 0,
    next:
      rows.length > limit && last ? { at: last.at, session_id: last.session_id, raw_turn_id: last.raw_turn_id } : null,
  };
}

const matching = ({ since, until, project, agent_name, model }: BreakFilter): SQL =>
  sql.join([
    since === null ? sql`` : sql` and b.at >= ${since}::timestamptz`,
    until === null ? sql`` : sql` and b.at < ${until}::timestamptz`,
    equal(sql`f.project`, project),
    equal(sql`f.agent_name`, agent_name),
    equal(sql`b.model`, model),
  ]);

/** Text that no column can hold matches nothing; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}
