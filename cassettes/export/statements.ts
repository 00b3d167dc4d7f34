/** All SQL of the export: over the views alone, one list of columns for each kind of row. */

const at = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The stored size of a span's payload, computed without unpacking it. */
const STORED = `pg_column_size(p.input) + pg_column_size(p.output) + coalesce(pg_column_size(p.verdict), 0)
  + coalesce(pg_column_size(p.usage), 0)`;

/** Columns of `svc_v1.sessions s`. */
const SESSION_COLUMNS = `
  s.id, s.harness_id, s.harness_session_id, nullif(s.harness_version, '') as harness_version, s.harness_metadata,
  s.parent_session_id, nullif(s.auth_subject, '') as auth_subject, nullif(s.cwd, '') as cwd, nullif(s.git_branch, '') as git_branch,
  nullif(s.name, '') as name,
  nullif(s.display_name, '') as display_name, ${at('s.started_at')} as started_at, ${at('s.last_seen_at')} as last_seen_at,
  ${at('s.ended_at')} as ended_at, s.derived_status as status, nullif(s.derived_title, '') as title,
  (select left(t.user_prompt, 120) from svc_v1.span_turns t
    where t.session_id = s.id and coalesce(t.synthetic, '') = '' and t.user_prompt <> ''
    order by t.started_at, t.trace_id limit 1) as preview,
  s.turn_count, nullif(s.derived_model, '') as model, s.model_usage, s.kind_counts, s.tool_result_count,
  s.tool_error_count, s.has_git_activity, s.tasks, s.total_input_tokens as input_tokens,
  s.total_output_tokens as output_tokens, s.total_cost_usd as cost_usd,
  (select coalesce(sum(t.cache_read_tokens), 0) from svc_v1.span_turns t where t.session_id = s.id) as cache_read_tokens,
  (select coalesce(sum(t.cache_creation_tokens), 0) from svc_v1.span_turns t where t.session_id = s.id) as cache_write_tokens,
  (select coalesce(sum(p.reasoning_tokens), 0) from svc_v1.spans p where p.session_id = s.id) as reasoning_tokens`;

/** @param which the rows of `svc_v1.span_turns t`: condition, order and limit */
const traces = (which: string) => `
  select t.trace_id, t.session_id, t.source, t.status, nullif(t.synthetic, '') as synthetic, t.user_prompt,
         nullif(t.response_preview, '') as response_preview, ${at('t.started_at')} as started_at,
         ${at('t.ended_at')} as ended_at, t.duration_ns, p.span_count, t.tool_calls, t.total_input_tokens as input_tokens,
         t.total_output_tokens as output_tokens, t.cache_read_tokens, t.cache_creation_tokens as cache_write_tokens,
         p.reasoning_tokens, t.total_cost_usd as cost_usd, p.unpriced_models, t.main_input_tokens, t.main_output_tokens
    from (select * from svc_v1.span_turns t ${which}) t
   cross join lateral (
         select count(*) as span_count, coalesce(sum(p.reasoning_tokens), 0) as reasoning_tokens,
                coalesce(array_agg(distinct p.model collate "C")
                           filter (where p.kind = 'llm' and p.usage is not null and p.cost_usd is null
                                    and p.inherited_from_session_id is null), '{}') as unpriced_models
           from svc_v1.spans p where p.session_id = t.session_id and p.trace_id = t.trace_id) p`;

/** Columns of `svc_v1.spans p`, with `input` and `output` as text. @param traceAt when its trace started */
const spanColumns = (traceAt: string) => `
  ${at(traceAt)} as trace_started_at, p.trace_id, p.span_id, p.session_id, p.parent_span_id, p.seq, p.kind, p.call_kind, p.name, p.thread_id, p.status,
  nullif(p.error_type, '') as error_type, nullif(p.error_message, '') as error_message, p.model, p.provider,
  p.stop_reason, nullif(p.external_id, '') as external_id,
  ${at('p.started_at')} as started_at, ${at('p.ended_at')} as ended_at, p.duration_ns, p.input::text as input,
  p.output::text as output, p.verdict, p.usage as usage_verbatim, p.input_tokens, p.output_tokens,
  p.cache_read_tokens, p.cache_write_5m_tokens, p.cache_write_1h_tokens, p.reasoning_tokens, p.cost_usd, p.raw_turn_id,
  p.node_hash, nullif(p.description, '') as description, p.totals`;

/** Columns of `svc_v1.span_links l`. */
const LINK_COLUMNS = `
  l.kind, l.from_trace_id, l.from_span_id, nullif(l.from_io, '') as from_io, l.to_trace_id, l.to_span_id,
  nullif(l.to_io, '') as to_io`;
const LINK_ORDER = 'l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind';

/** $1 and $2: the bounds of the window. Those seen last come first. */
export const IDS = `
  select s.id from svc_v1.sessions s
   where exists (select 1 from svc_v1.span_turns t
                  where t.session_id = s.id and t.started_at >= $1::timestamptz and t.started_at < $2::timestamptz)
   order by s.last_seen_at desc, s.id desc`;

/** $1: ids, whose order is kept. */
export const SIZES = `
  select a.id, p.bytes, p.spans, (select count(*) from svc_v1.span_turns t where t.session_id = a.id) as traces,
         (select count(*) from svc_v1.span_links l where l.session_id = a.id) as links
    from unnest($1::uuid[]) with ordinality as a (id, place)
   cross join lateral (select count(*) as spans, coalesce(sum(${STORED}), 0) as bytes
                         from svc_v1.spans p where p.session_id = a.id) p
   order by a.place`;

const listed = (rows: string, order: string) =>
  `coalesce((select json_agg(r order by ${order}) from (${rows}) r), '[]')`;

const TRACES_OF_ONE = listed(traces('where t.session_id = s.id'), 'r.started_at, r.trace_id');
const SPANS_OF_ONE = `
  coalesce((select json_agg(r.span order by r.started_at, r.trace_id, r.seq, r.span_id)
              from (select t.started_at, p.trace_id, p.seq, p.span_id, q as span
                      from svc_v1.span_turns t
                      join svc_v1.spans p on p.session_id = t.session_id and p.trace_id = t.trace_id
                     cross join lateral (select ${spanColumns('t.started_at')}) q
                     where t.session_id = s.id) r), '[]')`;
const LINKS_OF_ONE = `
  coalesce((select json_agg(r.link order by r.place)
              from (select q as link, row_number() over (order by ${LINK_ORDER}) as place
                      from svc_v1.span_links l cross join lateral (select ${LINK_COLUMNS}) q
                     where l.session_id = s.id) r), '[]')`;

/** $1: ids. Everything that the line of each session holds, in one row and as of one moment. */
export const WHOLE = {
  spans: `select ${SESSION_COLUMNS}, ${TRACES_OF_ONE} as traces, ${SPANS_OF_ONE} as spans, ${LINKS_OF_ONE} as links
            from svc_v1.sessions s where s.id = any($1::uuid[])`,
  traces: `select ${SESSION_COLUMNS}, ${TRACES_OF_ONE} as traces, '[]'::json as spans, '[]'::json as links
             from svc_v1.sessions s where s.id = any($1::uuid[])`,
};

/** $1: the id of the session. */
export const SESSION = `select ${SESSION_COLUMNS} from svc_v1.sessions s where s.id = $1::uuid`;

/** $1: session; $2, $3: the key of the last row before, null at the beginning; $4: limit. */
export const TRACES = `${traces(`
    where t.session_id = $1::uuid
      and ($2::timestamptz is null or (t.started_at, t.trace_id) > ($2::timestamptz, $3::uuid))
    order by t.started_at, t.trace_id limit $4::integer`)}
   order by t.started_at, t.trace_id`;

/**
 * $1: session; $2 to $5: the key of the last row before; $6: limit; $7: how many stored bytes the rows may have, without the last one.
 * Sizes are summed before a payload is unpacked, so a result never holds more than one large span beyond that.
 */
export const SPANS = `
  select ${spanColumns('p.trace_at')}, p.fetched
    from (select q.*, count(*) over () as fetched,
                 sum(q.stored) over (order by q.trace_at, q.trace_id, q.seq, q.span_id) - q.stored as bytes_before
            from (select p.*, t.started_at as trace_at, ${STORED} as stored
                    from svc_v1.span_turns t
                    join svc_v1.spans p on p.session_id = t.session_id and p.trace_id = t.trace_id
                   where t.session_id = $1::uuid
                     and ($2::timestamptz is null or t.started_at >= $2::timestamptz)
                     and ($2::timestamptz is null or (t.started_at, t.trace_id, p.seq, p.span_id)
                                                     > ($2::timestamptz, $3::uuid, $4::integer, $5::uuid))
                   order by t.started_at, t.trace_id, p.seq, p.span_id
                   limit $6::integer) q) p
   where p.bytes_before < $7::bigint
   order by p.trace_at, p.trace_id, p.seq, p.span_id`;

/** $1: session; $2 to $6: the key of the last row before, null at the beginning; $7: limit. */
export const LINKS = `
  select ${LINK_COLUMNS}
    from svc_v1.span_links l
   where l.session_id = $1::uuid
     and ($2::uuid is null or (${LINK_ORDER}) > ($2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::text))
   order by ${LINK_ORDER} limit $7::integer`;
