/** A check that the totals by day equal a group-by over the nodes, however many rows they are spread over. */
import * as assert from 'uvu/assert';
import type { TestDatabase } from './databases.ts';
import { KIND_SUMS, ROLLED_UP } from './stat-nodes.ts';

/** Checks that no empty row is left, and that without concurrent writers each (day, attributes) has one row. */
export async function assertDays(database: TestDatabase, message?: string) {
  const columns = `day, project, agent_name, model, provider, turn_count, root_count, tool_calls, unpriced_count,
                   trim_scale(input_tokens) as input_tokens, trim_scale(output_tokens) as output_tokens, trim_scale(cost_usd) as cost_usd,
                   ${ROLLED_UP}`;
  const [days, groups] = [
    await database.sql(`select ${columns} from svc.stat_days order by 1, 2, 3, 4, 5`),
    await database.sql(`
      select ${columns}
        from (select date_trunc('day', created_at, 'UTC') at time zone 'UTC' as midnight, project, agent_name, model, provider,
                     count(*) as turn_count, sum(case when is_root and injected = '' then 1 else 0 end) as root_count,
                     sum(tool_calls) as tool_calls,
                     sum(case when cost_usd is null and greatest(input_tokens, output_tokens) > 0 then 1 else 0 end) as unpriced_count,
                     sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(coalesce(cost_usd, 0)) as cost_usd,
                     ${KIND_SUMS}
                from svc.nodes
               group by 1, 2, 3, 4, 5) grouped, lateral (select midnight::date as day) days
       order by 1, 2, 3, 4, 5`),
  ];
  assert.equal(days, groups, message);
}
