/**
 * The columns of sessions: facts that intake stores, what the fold derives, and people's edits, in the shape of the model. A new field is a
 * migration, a member of the fold's `RollupRow`, a line here and a member of the model; the compiler asks for those that are missing.
 */
import type { ModelUsage, RollupRow } from '../../derive/changes.ts';
import type { SessionRecord } from '../../model/session.ts';
import {
  type ColumnsFor,
  columnsOf,
  expression,
  mapping,
  money,
  nonZero,
  optional,
  orElse,
  type PgType,
  type RowOf,
  readAs,
  selectOf,
  shownAs,
  typesOf,
  usd,
} from './column.ts';

/** Of `svc.session_rollups r`, a left join: a session that was not derived yet has no such row. */
const derived = columnsOf<'r', { [Name in keyof RollupRow]: RollupRow[Name] | null }>('r');

/** Of `svc.sessions s`. */
const fact = <Name extends string, Type extends PgType>(name: Name, type: Type) => expression(name, type, `s.${name}`);

/** One row for each model and price. */
const modelUses = (uses: ModelUsage[]) =>
  uses.length === 0
    ? undefined
    : uses.map(({ model, price, calls, input_tokens, output_tokens, cost_usd }) => ({
        ...{ model, calls, input_tokens, output_tokens },
        cost_usd: usd(cost_usd),
        price,
      }));

const IS_SHOWN = `not o.is_empty
  and not exists (select 1 from svc.session_edits d where d.session_id = o.session_id and d.deleted_at is not null)`;

/** Those that intake found, and those whose transcript brings the history along. */
const FORKS = `(select count(*)::integer
  from (select f.session_id from svc.sessions f
         where f.fork_of_session_id = s.session_id and f.session_id <> s.session_id
        union
        select g.session_id from svc.session_rollups g
         where g.fork_of_session_id = s.session_id and g.session_id <> s.session_id) f
  join svc.sessions o on o.session_id = f.session_id
 where coalesce(o.fork_of_session_id, s.session_id) = s.session_id and ${IS_SHOWN})`;

const CHILDREN = `(select count(*)::integer
  from svc.session_rollups c
  join svc.sessions o on o.session_id = c.session_id
 where c.parent_session_id = s.session_id and c.session_id <> s.session_id and ${IS_SHOWN})`;

export const sessionColumns = {
  id: expression('id', 'uuid', 's.session_id'),
  harness_id: fact('harness_id', 'text'),
  harness_session_id: fact('harness_session_id', 'text'),
  harness_version: optional(derived('harness_version', 'text')),
  harness_metadata: optional(derived('harness_metadata', 'jsonb')),
  parent_session_id: optional(derived('parent_session_id', 'uuid')),
  fork_of_session_id: optional(
    readAs(derived('fork_of_session_id', 'uuid'), 'coalesce(s.fork_of_session_id, r.fork_of_session_id)'),
  ),
  auth_subject: optional(fact('auth_subject', 'text')),
  agent_name: optional(derived('agent_name', 'text')),
  project: optional(derived('project', 'text')),
  cwd: optional(derived('cwd', 'text')),
  git_branch: optional(derived('git_branch', 'text')),
  name: optional(derived('name', 'text')),
  display_name: optional(expression('display_name', 'text', 'e.display_name')), // of `svc.session_edits e`, a left join
  starred: expression('starred', 'boolean', 'e.starred_at is not null'),
  forks: nonZero(expression('forks', 'integer', FORKS)),
  children: nonZero(expression('children', 'integer', CHILDREN)),
  started_at: fact('started_at', 'timestamptz'),
  last_seen_at: fact('last_seen_at', 'timestamptz'),
  ended_at: optional(fact('ended_at', 'timestamptz')),
  raw_turn_count: expression('raw_turn_count', 'integer', 's.turn_count + s.moved_turns'),
  rollup: {
    status: orElse(derived('status', 'text'), `'unknown'`),
    title: optional(derived('title', 'text')),
    preview: optional(derived('preview', 'text')),
    turn_count: orElse(derived('trace_count', 'integer'), '0'),
    model: optional(derived('model', 'text')),
    model_usage: shownAs(orElse(derived('model_usage', 'jsonb'), `'[]'`), modelUses),
    kind_counts: orElse(derived('kind_counts', 'jsonb'), `'{}'`),
    tool_result_count: orElse(derived('tool_result_count', 'integer'), '0'),
    tool_error_count: orElse(derived('tool_error_count', 'integer'), '0'),
    error_count: orElse(derived('error_count', 'integer'), '0'),
    shape: orElse(derived('shape', 'jsonb'), `'[]'`),
    has_git_activity: orElse(derived('has_git_activity', 'boolean'), 'false'),
    tasks: orElse(derived('tasks', 'jsonb'), `'[]'`),
    usage: {
      input_tokens: orElse(derived('input_tokens', 'bigint'), '0'),
      output_tokens: orElse(derived('output_tokens', 'bigint'), '0'),
      cache_read_tokens: orElse(derived('cache_read_tokens', 'bigint'), '0'),
      cache_write_tokens: orElse(derived('cache_write_tokens', 'bigint'), '0'),
      reasoning_tokens: orElse(derived('reasoning_tokens', 'bigint'), '0'),
      cost_usd: money(derived('cost_usd', 'numeric')),
      unpriced_models: orElse(derived('unpriced_models', 'text[]'), `'{}'`),
    },
    inherited_calls: nonZero(orElse(derived('inherited_calls', 'integer'), '0')),
    inherited_cost_usd: optional(money(derived('inherited_cost_usd', 'numeric'))),
  },
} as const satisfies ColumnsFor<SessionRecord>;

export type SessionRow = RowOf<typeof sessionColumns>;

export const sessionSelect = selectOf(sessionColumns);

/** What the fold writes: its row must have each of these columns, and no other. */
export const rollupTypes: Record<keyof RollupRow, PgType> = {
  session_id: 'uuid',
  derive_version: 'integer',
  ...typesOf(sessionColumns, 'r'),
};

const record = mapping<SessionRecord, SessionRow>(sessionColumns);

/** The cost of a session is 0 in its table where no call has a price; it is shown as unknown. */
export const toSession = (row: SessionRow): SessionRecord =>
  record(row.model_usage.some(({ cost_usd }) => cost_usd !== null) ? row : { ...row, cost_usd: null });
