/**
 * What a fold changed, as the rows of its statements. The thread that folds makes them, so that only texts are copied to the thread of an
 * embedded database, which has the more to do of the two.
 */
import type {
  DroppedLinks,
  LinkRow,
  ProjectionChanges,
  RollupRow,
  SpanPatch,
  SpanRow,
  TraceRow,
} from '../../derive/changes.ts';
import { patchedOutline, type SpanOutline, spanOutline } from '../../derive/span-outline.ts';
import { linkTypes } from '../columns/link.ts';
import { rollupTypes } from '../columns/session.ts';
import { outlineTypes, spanTypes } from '../columns/span.ts';
import { traceTypes } from '../columns/trace.ts';
import { jsonText } from '../literals.ts';
import type { Revision } from './revisions.ts';
import { upsertInto } from './upsert.ts';

/** The changes of one session, in the order in which they are written. Rows are JSON texts: `upsertTraces` and so on take them. */
export type ProjectionRows = {
  session_id: string;
  trace_ids: string[]; // of `traces`
  traces: string[]; // without their revision
  spans: string[]; // the same
  patches: string[]; // the same
  dropped: (DroppedLinks & { session_id: string })[];
  links: string[];
  rollup: string;
};

export const upsertTraces = upsertInto<TraceRow & Pick<Revision, 'rev'>, 'trace_id' | 'session_id', 'rev'>(
  'svc.traces',
  ['trace_id', 'session_id'],
  { ...traceTypes, rev: 'bigint' },
  {
    ignored: ['rev'],
    usual: {
      ...{ synthetic: '', response_preview: '', tool_calls: 0, error_count: 0 },
      ...{ input_tokens: 0, output_tokens: 0, main_input_tokens: 0, main_output_tokens: 0 },
      ...{ cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 },
    },
  },
);
export const upsertSpans = upsertInto<
  SpanRow & SpanOutline & Revision,
  'span_id' | 'trace_id' | 'session_id',
  keyof Revision
>(
  'svc.spans',
  ['span_id', 'trace_id', 'session_id'],
  { ...spanTypes, ...outlineTypes, rev: 'bigint', partition_no: 'integer' },
  {
    ...{ ignored: ['rev'], inserted: ['partition_no'], constraint: 'spans_pkey' },
    usual: {
      ...{ call_kind: '', thread_id: '', status: 'ok', error_type: '', error_message: '', model: '', provider: '' },
      ...{ stop_reason: '', external_id: '', call_id: '', description: '', label: '' },
      ...{ input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, reasoning_tokens: 0 },
      ...{ cache_write_5m_tokens: 0, cache_write_1h_tokens: 0, tool_calls_omitted: 0, events_omitted: 0 },
      ...{ input_lines: 0, input_characters: 0, output_lines: 0, output_characters: 0, images: 0 },
    },
  },
);
export const upsertLinks = upsertInto<LinkRow, LinkKeyColumn>(
  'svc.span_links',
  ['session_id', 'from_trace_id', 'from_span_id', 'to_trace_id', 'to_span_id', 'kind'],
  linkTypes,
);
export const upsertRollups = upsertInto<RollupRow, 'session_id'>('svc.session_rollups', ['session_id'], rollupTypes);

export type LinkKeyColumn = 'session_id' | 'kind' | 'from_trace_id' | 'from_span_id' | 'to_trace_id' | 'to_span_id';

export function projectionRows(changes: ProjectionChanges): ProjectionRows {
  const { traces, spans, patches, dropped, links, rollup } = changes;
  const { session_id } = rollup;
  return {
    session_id,
    trace_ids: traces.map(({ trace_id }) => trace_id),
    traces: traces.map((trace) => upsertTraces.text(trace)),
    spans: spans.map((span) => upsertSpans.text(span, { ...spanOutline(span), node_hash: hexBytes(span.node_hash) })),
    patches: patches.map((patch) =>
      jsonText({ session_id, named: columnsNamed(patch), ...patch, ...patchedOutline(patch) }),
    ),
    dropped: dropped.map((link) => ({ session_id, ...link })),
    links: links.map((link) => upsertLinks.text(link)),
    rollup: upsertRollups.text(rollup),
  };
}

/** bytea as a JSON string: PostgreSQL parses this text form. */
const hexBytes = (hex: string | null) => (hex === null ? null : `\\x${hex}`);

const columnsNamed = ({ trace_id: _trace, span_id: _span, ...columns }: SpanPatch): string[] => Object.keys(columns);
