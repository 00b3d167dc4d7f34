/** Turns rows of the views into members of a line. Members that are null are left out; computed ones are computed as in the read API. */
import type { ExportedLink, ExportedSession, ExportedSpan, ExportedTrace } from './model.ts';

/** The row of a member of a line: what is optional in a line is null in a row. */
type Sparse<Noun> = {
  [Key in keyof Noun]-?: object extends Pick<Noun, Key> ? Exclude<Noun[Key], undefined> | null : Noun[Key];
};
type Tokens = Omit<ExportedTrace['usage'], 'cost_usd' | 'unpriced_models'>;
type ModelUse = NonNullable<ExportedSession['rollup']['model_usage']>[number];
type ModelUseRow = Omit<ModelUse, 'cost_usd'> & { cost_usd: string | null };

/** Columns of a session in statements.ts. */
export type SessionViewRow = Omit<Sparse<ExportedSession>, 'display_title' | 'rollup'> &
  Omit<Sparse<ExportedSession['rollup']>, 'model_usage' | 'kind_counts' | 'tasks' | 'usage'> &
  Tokens & {
    cost_usd: number;
    model_usage: ModelUseRow[] | null;
    kind_counts: Record<string, number> | null;
    tasks: unknown[] | null;
  };

/** Columns of a trace. */
export type TraceViewRow = Omit<Sparse<ExportedTrace>, 'usage' | 'main_usage'> &
  ExportedTrace['usage'] &
  Record<'main_input_tokens' | 'main_output_tokens', number>;

type Payload = 'input' | 'output';

/** Columns of a span. `input` and `output` are JSON in a text. */
export type SpanViewRow = Omit<Sparse<ExportedSpan>, 'usage' | Payload> &
  ExportedSpan['usage'] &
  Record<Payload, string> & { trace_started_at: string };

/** Columns of a link. */
export type LinkViewRow = Sparse<ExportedLink>;

export const sessionOf = (row: SessionViewRow): ExportedSession =>
  present<ExportedSession>({
    id: row.id,
    harness_id: row.harness_id,
    harness_session_id: row.harness_session_id,
    harness_version: row.harness_version,
    harness_metadata: row.harness_metadata,
    parent_session_id: row.parent_session_id,
    auth_subject: row.auth_subject,
    cwd: row.cwd,
    git_branch: row.git_branch,
    name: row.name,
    display_name: row.display_name,
    display_title: displayTitle(row),
    started_at: row.started_at,
    last_seen_at: row.last_seen_at,
    ended_at: row.ended_at,
    rollup: rollupOf(row),
  });

function rollupOf(row: SessionViewRow): ExportedSession['rollup'] {
  const uses = row.model_usage ?? [];
  const unpriced = uses.filter(({ cost_usd }) => cost_usd === null).map(({ model }) => model);
  return present<ExportedSession['rollup']>({
    status: row.status,
    title: row.title,
    preview: row.preview,
    turn_count: row.turn_count,
    model: row.model,
    model_usage: uses.length === 0 ? null : uses.map(modelUse),
    kind_counts: row.kind_counts ?? {},
    tool_result_count: row.tool_result_count,
    tool_error_count: row.tool_error_count,
    has_git_activity: row.has_git_activity,
    tasks: row.tasks ?? [],
    usage: {
      ...tokensOf(row),
      cost_usd: uses.some(({ cost_usd }) => cost_usd !== null) ? row.cost_usd : null,
      unpriced_models: [...new Set(unpriced)].sort(),
    },
  });
}

const modelUse = ({ model, price, calls, input_tokens, output_tokens, cost_usd }: ModelUseRow): ModelUse => ({
  ...{ model, calls, input_tokens, output_tokens },
  cost_usd: cost_usd === null ? null : Number(cost_usd),
  price,
});

export const traceOf = (row: TraceViewRow): ExportedTrace =>
  present<ExportedTrace>({
    trace_id: row.trace_id,
    session_id: row.session_id,
    source: row.source,
    status: row.status,
    synthetic: row.synthetic,
    user_prompt: row.user_prompt,
    response_preview: row.response_preview,
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ns: row.duration_ns,
    span_count: row.span_count,
    tool_calls: row.tool_calls,
    usage: { ...tokensOf(row), cost_usd: row.cost_usd, unpriced_models: row.unpriced_models },
    main_usage: { input_tokens: row.main_input_tokens, output_tokens: row.main_output_tokens },
  });

const tokensOf = (row: Tokens): Tokens => ({
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cache_read_tokens: row.cache_read_tokens,
  cache_write_tokens: row.cache_write_tokens,
  reasoning_tokens: row.reasoning_tokens,
});

/**
 * A span in JSON. `input` and `output` are inserted as they are stored: they are most of an export and need not be parsed here, and a
 * large number in them keeps its last digits.
 */
export const spanText = (row: SpanViewRow): string =>
  `${JSON.stringify(spanOf(row)).slice(0, -1)},"input":${row.input},"output":${row.output}}`;

const spanOf = (row: SpanViewRow): Omit<ExportedSpan, Payload> =>
  present<Omit<ExportedSpan, Payload>>({
    trace_id: row.trace_id,
    span_id: row.span_id,
    session_id: row.session_id,
    parent_span_id: row.parent_span_id,
    seq: row.seq,
    kind: row.kind,
    call_kind: row.call_kind,
    name: row.name,
    thread_id: row.thread_id,
    status: row.status,
    error_type: row.error_type,
    error_message: row.error_message,
    model: row.model,
    provider: row.provider,
    stop_reason: row.stop_reason,
    external_id: row.external_id,
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ns: row.duration_ns,
    verdict: row.verdict,
    usage: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_5m_tokens: row.cache_write_5m_tokens,
      cache_write_1h_tokens: row.cache_write_1h_tokens,
      reasoning_tokens: row.reasoning_tokens,
      cost_usd: row.cost_usd,
    },
    usage_verbatim: row.usage_verbatim,
    raw_turn_id: row.raw_turn_id,
    node_hash: row.node_hash,
    description: row.description,
    totals: row.totals,
  });

export const linkOf = (row: LinkViewRow): ExportedLink => present<ExportedLink>(row);

const present = <Noun extends object>(row: Sparse<Noun>): Noun => {
  const defined: Record<string, unknown> = {};
  for (const key in row) if (row[key] !== null) defined[key] = row[key];
  return defined as Noun;
};

/** As in the read API: the name by a person, else title or first prompt, else the name by the harness. A prompt that is JSON is no title. */
const displayTitle = ({ id, display_name, name, harness_session_id, title, preview }: SessionViewRow): string =>
  [
    display_name,
    title,
    preview !== null && !isJson(preview) ? preview : null,
    name,
    harness_session_id.slice(0, 12),
  ].find((one) => one !== null && one.trim() !== '') ?? id;

/** Previews are cut, so JSON is also recognised by its beginning. */
function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  if (/^\s*(\{\s*"[^"]*"\s*:|\[\s*\{\s*"[^"]*"\s*:)/.test(text)) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
