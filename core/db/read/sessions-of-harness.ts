/** The sessions that a harness calls by an id. */
import { type SQL, sql } from 'drizzle-orm';

/** Their `session_id`s. The harnesses are few: each is found by skipping those before it, and its session by the index of both. */
export const sessionsOfHarness = (id: string): SQL => sql`
  with recursive harnesses as (
     (select harness_id from svc.sessions order by harness_id limit 1)
     union all
     select (select n.harness_id from svc.sessions n where n.harness_id > h.harness_id order by n.harness_id limit 1)
       from harnesses h where h.harness_id is not null)
   select s.session_id
     from harnesses
     join svc.sessions s
       on s.harness_id = harnesses.harness_id and s.harness_session_id = ${id}::text and not s.is_empty`;
