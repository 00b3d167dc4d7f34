/** Every row of the projection of a test's database, to be compared as a whole. */
import type { TestDatabase } from './databases.ts';

/** The projection, with turns named by their calls: their numbers follow the order of arrival. */
export async function dump(database: TestDatabase): Promise<Record<string, unknown[]>> {
  const [traces, spans, links, rollups] = await Promise.all([
    database.sql(`select to_jsonb(x) - 'rev' as row from svc.traces x order by trace_id`),
    database.sql(
      `with ours as materialized (select * from svc.spans)
       select to_jsonb(x) - 'raw_turn_id' - 'rev' as row, coalesce(t.svc_proxy_request_id, '') as call_id
         from ours x left join svc.raw_turns t using (raw_turn_id)
        order by x.trace_id, x.span_id`,
    ),
    database.sql('select to_jsonb(x) as row from svc.span_links x order by from_span_id, to_span_id, kind'),
    database.sql('select to_jsonb(x) as row from svc.session_rollups x order by session_id'),
  ]);
  return { traces, spans, links, rollups } as Record<string, unknown[]>;
}
