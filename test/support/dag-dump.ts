/** The DAG of each session, without the numbers that the database assigns: to be compared as a whole. */
import type { TestDatabase } from './databases.ts';

export const dagDump = async (database: TestDatabase): Promise<string[]> => {
  const rows = await database.sql(`
    select (to_jsonb(n) - 'raw_turn_id' || jsonb_build_object('raw_turn', t.svc_proxy_request_id))::text as line
      from svc.nodes n join svc.raw_turns t using (raw_turn_id)
    union all
    select (to_jsonb(c) - 'raw_turn_id' || jsonb_build_object('raw_turn', t.svc_proxy_request_id))::text
      from svc.calls c join svc.raw_turns t using (raw_turn_id)
     order by 1`);
  return rows.map(({ line }) => String(line));
};
