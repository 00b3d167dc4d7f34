/** The conditions of a filter on sessions: those that lists, and what sums them up, share. */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { SessionFilter } from '../../model/browse.ts';
import { pgArray } from '../literals.ts';
import { sessionsOfHarness } from './sessions-of-harness.ts';

/** The join that the conditions need: rollups, as `f`. */
export const rollupsFor = ({ project, agent_name, status }: SessionFilter): SQL =>
  project === null && agent_name === null && status === null
    ? sql``
    : sql` left join svc.session_rollups f on f.session_id = s.session_id`;

/** Conditions on `svc.sessions s`, each after an `and`. */
export function matching(filter: SessionFilter): SQL {
  const { text, project, agent_name, model, provider, harness_id, status, since, until } = filter;
  const { harness_session_id, parent_session_id, fork_of_session_id, starred } = filter;
  return sql.join([
    ...(text ?? []).map(containsWord),
    equal(sql`f.project`, project),
    equal(sql`f.agent_name`, agent_name),
    equal(sql`s.harness_id`, harness_id),
    harness_session_id === null ? sql`` : ofHarness(harness_session_id),
    usedInCall(sql`p.model`, model),
    usedInCall(sql`p.provider`, provider),
    status === null ? sql`` : oneOf(status),
    parent_session_id === null ? sql`` : startedBy(parent_session_id),
    fork_of_session_id === null ? sql`` : forkOf(fork_of_session_id),
    starred === null ? sql`` : sql` and ${starred ? sql`` : sql`not `}${STARRED}`,
    since === null ? sql`` : sql` and s.last_seen_at >= ${since}::timestamptz`,
    until === null ? sql`` : sql` and s.started_at < ${until}::timestamptz`,
  ]);
}

/** Text that no column can hold matches nothing; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}

/** The column is compared without `coalesce`, so that the planner can use its statistics. */
const oneOf = (status: NonNullable<SessionFilter['status']>): SQL => {
  const derived = sql`f.status = any(${pgArray(status)}::text[])`;
  return status.includes('unknown') ? sql` and (${derived} or f.session_id is null)` : sql` and ${derived}`;
};

/** Found first, and each then read by its key: an order's index would be walked to its end. */
const ofHarness = (id: string): SQL =>
  storable(id) === id ? sql` and s.session_id = any(array(${sessionsOfHarness(id)}))` : sql` and false`;

const usedInCall = (column: SQL, value: string | null): SQL =>
  value === null
    ? sql``
    : sql` and exists (select 1 from svc.all_spans p where p.session_id = s.session_id and p.kind = 'llm'${equal(column, value)})`;

const startedBy = (id: string): SQL => sql` and s.session_id in (
    select c.session_id from svc.session_rollups c where c.parent_session_id = ${id}::uuid)`;

/** What intake found decides; only without it what a transcript says. */
const forkOf = (id: string): SQL => sql` and s.session_id in (
    select o.session_id from svc.sessions o where o.fork_of_session_id = ${id}::uuid
    union all
    select g.session_id
      from svc.session_rollups g
      join svc.sessions o on o.session_id = g.session_id
     where g.fork_of_session_id = ${id}::uuid and o.fork_of_session_id is null)`;

const STARRED = sql`exists (select 1 from svc.session_edits b where b.session_id = s.session_id and b.starred_at is not null)`;

const LONGEST_WORD = 100; // where `svc.words` cuts them

/** Each word may occur in another text of the session. The searched expressions are spelled as in the indexes. */
function containsWord(word: string): SQL {
  const begins = sql`lower(${`'${[...word].slice(0, LONGEST_WORD).join('')}':*`} collate pg_c_utf8)::tsquery`;
  return sql` and s.session_id in (
    select t.session_id from svc.all_traces t where svc.words(t.user_prompt || ' ' || t.response_preview) @@ ${begins}
    union all
    select w.session_id from svc.session_rollups w
     where svc.words(coalesce(w.name, '') || ' ' || coalesce(w.title, '') || ' ' || coalesce(w.preview, '')) @@ ${begins}
    union all
    select d.session_id from svc.session_edits d where svc.words(coalesce(d.display_name, '')) @@ ${begins})`;
}
