/** Writes what a fold changed: rows of the projection, patches of spans, links. Rows that would not change are not written. */
import { type SQL, sql } from 'drizzle-orm';
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
import { jsonText, pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';
import type { Revision } from './revisions.ts';
import { upsertInto } from './upsert.ts';

type Revised = { rev: number };

const upsertTraces = upsertInto<TraceRow & Revised, 'trace_id' | 'session_id'>(
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
const upsertSpans = upsertInto<SpanRow & SpanOutline & Revision, 'span_id' | 'trace_id' | 'session_id'>(
  'svc.spans',
  ['span_id', 'trace_id', 'session_id'],
  { ...spanTypes, ...outlineTypes, rev: 'bigint', partition_no: 'integer' },
  {
    ...{ ignored: ['rev'], inserted: ['partition_no'], constraint: 'spans_pkey' },
    usual: {
      partition_no: 0,
      ...{ call_kind: '', thread_id: '', status: 'ok', error_type: '', error_message: '', model: '', provider: '' },
      ...{ stop_reason: '', external_id: '', call_id: '', description: '', label: '' },
      ...{ input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, reasoning_tokens: 0 },
      ...{ cache_write_5m_tokens: 0, cache_write_1h_tokens: 0, tool_calls_omitted: 0, events_omitted: 0 },
      ...{ input_lines: 0, input_characters: 0, output_lines: 0, output_characters: 0, images: 0 },
    },
  },
);
const upsertLinks = upsertInto<LinkRow, LinkKey>(
  'svc.span_links',
  ['session_id', 'from_trace_id', 'from_span_id', 'to_trace_id', 'to_span_id', 'kind'],
  linkTypes,
);
const upsertRollups = upsertInto<RollupRow, 'session_id'>('svc.session_rollups', ['session_id'], rollupTypes);

/**
 * Writes the changes of some sessions.
 * @param revisions the revision of each session that they lead to
 * @param unfinished sessions of which calls are folded again and some are left: their rollups stay as they are, which count all calls
 * @returns the sessions of which rows have changed
 */
export async function writeChanges(
  tx: Sql,
  changes: readonly ProjectionChanges[],
  revisions: ReadonlyMap<string, Revision>,
  unfinished: ReadonlySet<string> = new Set(),
): Promise<Set<string>> {
  const sessionOf = sessionsByTrace(changes);
  const revisionOf = (trace_id: string) => revisions.get(sessionOf.get(trace_id) ?? '') ?? { rev: 0, partition_no: 0 };
  const all = <Row>(rows: (one: ProjectionChanges) => readonly Row[]): Row[] => changes.flatMap(rows);
  const revised = <Row extends { trace_id: string }>(row: Row) => ({ ...row, rev: revisionOf(row.trace_id).rev });
  const dropped = changes.flatMap(({ dropped, rollup: { session_id } }) =>
    dropped.map((link) => ({ session_id, ...link })),
  );
  const [writtenTraces, changedSpans, changedLinks, rollups] = await pipelined([
    upsertTraces(tx, all((one) => one.traces).map(revised)),
    writeSpans(tx, changes, revisionOf),
    writeLinks(tx, { links: all((one) => one.links), dropped }),
    upsertRollups(
      tx,
      changes.flatMap(({ rollup }) => (unfinished.has(rollup.session_id) ? [] : rollup)),
    ),
  ]);
  await reviseEnds(tx, changedLinks, { revised: changedSpans, revisions });
  const traces = [
    ...[...writtenTraces, ...changedSpans].map(({ trace_id }) => trace_id),
    ...changedLinks.map(({ from_trace_id }) => from_trace_id),
  ];
  const written = new Set(rollups.map(({ session_id }) => session_id));
  for (const trace_id of traces) {
    const session_id = sessionOf.get(trace_id);
    if (session_id) written.add(session_id);
  }
  return written;
}

/** @returns the keys of the spans that were written or patched */
async function writeSpans(
  tx: Sql,
  changes: readonly ProjectionChanges[],
  revisionOf: (trace_id: string) => Revision,
): Promise<SpanKey[]> {
  const written = await upsertSpans(
    tx,
    changes.flatMap(({ spans }) =>
      spans.map((span) => {
        const { label, input_lines, input_characters, output_lines, output_characters, images } = spanOutline(span);
        const node_hash = hexBytes(span.node_hash);
        const outline = { label, input_lines, input_characters, output_lines, output_characters, images };
        return { ...span, ...outline, ...revisionOf(span.trace_id), node_hash };
      }),
    ),
  );
  const patches = changes.flatMap(({ patches, rollup: { session_id } }) =>
    patches.map((patch) => ({ ...patch, rev: revisionOf(patch.trace_id).rev, session_id })),
  );
  return patches.length > 0 ? [...written, ...(await patchSpans(tx, patches))] : written;
}

/** @returns the links that were deleted or written */
async function writeLinks(
  tx: Sql,
  { links, dropped }: { links: readonly LinkRow[]; dropped: readonly (DroppedLinks & { session_id: string })[] },
): Promise<Pick<LinkRow, LinkKey>[]> {
  const removed = dropped.length > 0 ? await dropLinks(tx, dropped, links) : [];
  return links.length > 0 ? [...removed, ...(await upsertLinks(tx, links))] : removed;
}

/** The sessions of all traces that the changes name. */
function sessionsByTrace(changes: readonly ProjectionChanges[]): Map<string, string> {
  const sessions = new Map<string, string>();
  for (const { traces, spans, patches, links, dropped, rollup } of changes) {
    const { session_id } = rollup;
    for (const { trace_id } of [...traces, ...spans, ...patches]) sessions.set(trace_id, session_id);
    for (const { from_trace_id } of [...links, ...dropped]) sessions.set(from_trace_id, session_id);
  }
  return sessions;
}

type SpanKey = Pick<SpanRow, 'trace_id' | 'span_id'>;
type LinkKey = 'session_id' | 'kind' | 'from_trace_id' | 'from_span_id' | 'to_trace_id' | 'to_span_id';

/** A link has no revision: a reader gets it with the spans that it joins, so that one of these is in the revision too. */
async function reviseEnds(
  tx: Sql,
  links: readonly Pick<LinkRow, LinkKey>[],
  { revised, revisions }: { revised: readonly SpanKey[]; revisions: ReadonlyMap<string, Revision> },
): Promise<void> {
  const keyOf = (trace_id: string, span_id: string) => `${trace_id} ${span_id}`;
  const keys = new Set(revised.map(({ trace_id, span_id }) => keyOf(trace_id, span_id)));
  const others = links.filter(
    (link) =>
      !keys.has(keyOf(link.from_trace_id, link.from_span_id)) && !keys.has(keyOf(link.to_trace_id, link.to_span_id)),
  );
  if (others.length === 0) return;
  await tx.rows(sql`
    update svc.spans s set rev = k.rev
      from unnest(${pgArray(others.map((link) => link.session_id))}::uuid[],
                  ${pgArray(others.map((link) => link.from_trace_id))}::uuid[],
                  ${pgArray(others.map((link) => link.from_span_id))}::uuid[],
                  ${pgArray(others.map((link) => revisions.get(link.session_id)?.rev ?? 0))}::bigint[])
             as k (session_id, trace_id, span_id, rev)
     where s.session_id = k.session_id and s.trace_id = k.trace_id and s.span_id = k.span_id`);
}

/** bytea as a JSON string: PostgreSQL parses this text form. */
const hexBytes = (hex: string | null) => (hex === null ? null : `\\x${hex}`);

/** Columns that a patch may name, and those that follow from them; `nullable`: a null that it names is written, else it stands for no change. */
const PATCHED: Record<
  Exclude<keyof SpanPatch | keyof SpanOutline, keyof SpanKey | InputOutline>,
  { nullable: boolean }
> = {
  parent_span_id: { nullable: false },
  name: { nullable: false },
  description: { nullable: false },
  status: { nullable: false },
  error_type: { nullable: false },
  ended_at: { nullable: true },
  duration_ns: { nullable: true },
  output: { nullable: false },
  verdict: { nullable: true },
  totals: { nullable: false },
  label: { nullable: false },
  output_lines: { nullable: false },
  output_characters: { nullable: false },
  images: { nullable: false },
};
/** What no patch changes of a span's outline. */
type InputOutline = 'input_lines' | 'input_characters';
const patchedNames = Object.keys(PATCHED) as (keyof typeof PATCHED)[];

/** The value of a column of the span `s` after a patch `r`. */
function patchedValue(name: keyof typeof PATCHED): string {
  if (!PATCHED[name].nullable) return `coalesce(r.${name}, s.${name})`;
  return `case when '${name}' = any(r.named) then r.${name} else s.${name} end`;
}

const patchedColumns = (text: (name: keyof typeof PATCHED) => string): SQL =>
  sql.raw(patchedNames.map(text).join(', '));
const PATCH = {
  set: patchedColumns((name) => `${name} = ${patchedValue(name)}`),
  before: patchedColumns((name) => `s.${name}`),
  after: patchedColumns(patchedValue),
  columns: patchedColumns((name) => `${name} ${{ ...spanTypes, ...outlineTypes }[name]}`),
};

/** A column that a patch does not name stays as it is. */
async function patchSpans(
  tx: Sql,
  patches: readonly (SpanPatch & Revised & { session_id: string })[],
): Promise<SpanKey[]> {
  const patched: SpanKey[] = [];
  const rows = patches.map((whole) => {
    const { session_id, trace_id, span_id, rev, ...patch } = whole;
    return { session_id, trace_id, span_id, rev, named: Object.keys(patch), ...patch, ...patchedOutline(whole) };
  });
  for (const batch of jsonBatches(rows)) for (const key of await patchBatch(tx, batch)) patched.push(key);
  return patched;
}

const patchBatch = (tx: Sql, rows: string): Promise<SpanKey[]> =>
  tx.rows<SpanKey>(sql`
    update svc.spans s
       set ${PATCH.set}, rev = r.rev
      from json_to_recordset(${rows}::json)
             as r (session_id uuid, trace_id uuid, span_id uuid, rev bigint, named text[], ${PATCH.columns})
     where s.session_id = r.session_id and s.trace_id = r.trace_id and s.span_id = r.span_id
       and (${PATCH.before}) is distinct from (${PATCH.after})
    returning s.trace_id, s.span_id`);

/** Deletes links, except those that are written again. */
const dropLinks = (
  tx: Sql,
  dropped: readonly (DroppedLinks & { session_id: string })[],
  links: readonly LinkRow[],
): Promise<Pick<LinkRow, LinkKey>[]> =>
  tx.rows<Pick<LinkRow, LinkKey>>(sql`
    delete from svc.span_links l
     using json_to_recordset(${jsonText(dropped)}::json)
             as d (session_id uuid, kind text, from_trace_id uuid, from_span_id uuid)
     where l.session_id = d.session_id and l.kind = d.kind
       and l.from_trace_id = d.from_trace_id and l.from_span_id = d.from_span_id
       and (l.session_id, l.kind, l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id) not in (
         select k.session_id, k.kind, k.from_trace_id, k.from_span_id, k.to_trace_id, k.to_span_id
           from json_to_recordset(${jsonText(links)}::json)
             as k (session_id uuid, kind text, from_trace_id uuid, from_span_id uuid, to_trace_id uuid, to_span_id uuid))
    returning l.session_id, l.kind, l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id`);
