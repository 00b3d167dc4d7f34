/** Spans from their table, whole or shortened. */
import { type SQL, sql } from 'drizzle-orm';
import type { AgentTotals } from '../../derive/changes.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { Payload } from '../../model/page.ts';
import type { Span } from '../../model/span.ts';
import { instant } from '../literals.ts';
import { present, usd } from './present.ts';

/** Columns of `svc.spans p`. */
export const spanColumns: SQL = sql`
  p.trace_id, p.span_id, p.session_id, p.parent_span_id, p.seq, p.kind, p.call_kind, p.name, p.thread_id, p.status,
  nullif(p.error_type, '') as error_type, nullif(p.error_message, '') as error_message, p.model, p.provider,
  p.stop_reason, nullif(p.external_id, '') as external_id,
  ${instant(sql`p.started_at`)} as started_at, ${instant(sql`p.first_byte_at`)} as first_byte_at,
  ${instant(sql`p.ended_at`)} as ended_at, p.duration_ns, p.input, p.output, p.verdict, p.input_tokens, p.output_tokens,
  p.cache_read_tokens, p.cache_write_5m_tokens, p.cache_write_1h_tokens, p.reasoning_tokens, p.usage_verbatim,
  p.cost_usd, p.price, p.tool_calls_omitted, p.events_omitted, nullif(p.description, '') as description, p.totals,
  p.raw_turn_id, encode(p.node_hash, 'hex') as node_hash, p.inherited_from`;

export type SpanColumns = {
  trace_id: string;
  span_id: string;
  session_id: string;
  parent_span_id: string | null;
  seq: number;
  kind: 'agent' | 'llm' | 'tool' | 'event';
  call_kind: string;
  name: string;
  thread_id: string;
  status: 'ok' | 'error' | 'partial';
  error_type: string | null;
  error_message: string | null;
  model: string;
  provider: string;
  stop_reason: string;
  external_id: string | null;
  started_at: string;
  first_byte_at: string | null;
  ended_at: string | null;
  duration_ns: number | null;
  input: ContentBlock[];
  output: ContentBlock[];
  verdict: Record<string, unknown> | null;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  reasoning_tokens: number;
  usage_verbatim: Record<string, unknown> | null;
  cost_usd: string | null;
  price: { model: string; source: string; date: string } | null;
  tool_calls_omitted: number;
  events_omitted: number;
  description: string | null;
  totals: AgentTotals | null;
  raw_turn_id: number | null;
  node_hash: string | null;
  inherited_from: string | null;
};

export const spanRecord = (row: SpanColumns, payload: Payload): Span =>
  present<Span>({
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
    first_byte_at: row.first_byte_at,
    ended_at: row.ended_at,
    duration_ns: row.duration_ns,
    input: payload === 'preview' ? row.input.map(blockPreview) : row.input,
    output: payload === 'preview' ? row.output.map(blockPreview) : row.output,
    verdict: row.verdict,
    usage: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_5m_tokens: row.cache_write_5m_tokens,
      cache_write_1h_tokens: row.cache_write_1h_tokens,
      reasoning_tokens: row.reasoning_tokens,
      cost_usd: usd(row.cost_usd),
    },
    usage_verbatim: row.usage_verbatim,
    price: row.price,
    tool_calls_omitted: row.tool_calls_omitted || null,
    events_omitted: row.events_omitted || null,
    description: row.description,
    totals: row.totals && { ...row.totals, cost_usd: usd(row.totals.cost_usd) },
    raw_turn_id: row.raw_turn_id,
    node_hash: row.node_hash,
    inherited_from_session_id: row.inherited_from,
    payload: payload === 'preview' ? 'preview' : null,
  });

const PREVIEW_CHARACTERS = 512;

/** A block with every string cut after 512 characters, and without the bytes of an image. */
const blockPreview = (block: ContentBlock): ContentBlock => {
  const cut = shortened(block) as ContentBlock;
  return block.image_base64 === undefined ? cut : { ...cut, image_base64: '' };
};

const shortened = (value: unknown): unknown => {
  if (typeof value === 'string') return cutAt(value, PREVIEW_CHARACTERS);
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
};

/** Whole characters, so that no surrogate pair is split. */
const cutAt = (text: string, characters: number): string => {
  if (text.length <= characters) return text;
  const start = Array.from(text.slice(0, characters * 2))
    .slice(0, characters)
    .join('');
  return start.length < text.length ? `${start}…` : text;
};
