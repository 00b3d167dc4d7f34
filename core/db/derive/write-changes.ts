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
import { linkTypes } from '../columns/link.ts';
import { rollupTypes } from '../columns/session.ts';
import { spanTypes } from '../columns/span.ts';
import { traceTypes } from '../columns/trace.ts';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';
import { upsertInto } from './upsert.ts';

const upsertTraces = upsertInto<TraceRow>('svc.traces', ['trace_id'], traceTypes);
const upsertSpans = upsertInto<SpanRow>('svc.spans', ['trace_id', 'span_id'], spanTypes);
const upsertLinks = upsertInto<LinkRow>(
  'svc.span_links',
  ['from_trace_id', 'from_span_id', 'to_trace_id', 'to_span_id', 'kind'],
  linkTypes,
);
const upsertRollups = upsertInto<RollupRow>('svc.session_rollups', ['session_id'], rollupTypes);

/** Writes the changes. @returns how many rows have changed */
export async function writeChanges(
  tx: Sql,
  { traces, spans, patches, links, dropped, rollup }: ProjectionChanges,
): Promise<number> {
  let written = await upsertTraces(tx, traces);
  written += await upsertSpans(
    tx,
    spans.map((span) => ({ ...span, node_hash: hexBytes(span.node_hash) })),
  );
  if (patches.length > 0) written += await patchSpans(tx, patches);
  if (dropped.length > 0) written += await dropLinks(tx, dropped, links);
  written += await upsertLinks(tx, links);
  return written + (await upsertRollups(tx, [rollup]));
}

/** bytea as a JSON string: PostgreSQL parses this text form. */
const hexBytes = (hex: string | null) => (hex === null ? null : `\\x${hex}`);

/** Columns that a patch may name; `nullable`: a null that it names is written, else it stands for no change. */
const PATCHED: Record<Exclude<keyof SpanPatch, 'trace_id' | 'span_id'>, { nullable: boolean }> = {
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
};
const patchedNames = Object.keys(PATCHED) as (keyof typeof PATCHED)[];

/** The value of a column of the span `o` after a patch `r.patch`. */
function patchedValue(name: keyof typeof PATCHED): string {
  const type = spanTypes[name];
  const value = type === 'jsonb' ? `r.patch -> '${name}'` : `(r.patch ->> '${name}')::${type}`;
  if (!PATCHED[name].nullable) return `coalesce(${value}, o.${name})`;
  const orNull = type === 'jsonb' ? `nullif(${value}, 'null'::jsonb)` : value;
  return `case when jsonb_exists(r.patch, '${name}') then ${orNull} else o.${name} end`;
}

const patchedColumns = (text: (name: keyof typeof PATCHED) => string): SQL =>
  sql.raw(patchedNames.map(text).join(', '));
const PATCH = {
  set: patchedColumns((name) => `${name} = n.${name}`),
  values: patchedColumns((name) => `${patchedValue(name)} as ${name}`),
  before: patchedColumns((name) => `o.${name}`),
  after: patchedColumns((name) => `n.${name}`),
};

/** A column that a patch does not name stays as it is. */
async function patchSpans(tx: Sql, patches: readonly SpanPatch[]): Promise<number> {
  let patched = 0;
  const rows = patches.map(({ trace_id, span_id, ...patch }) => ({ trace_id, span_id, patch }));
  for (const batch of jsonBatches(rows)) patched += await patchBatch(tx, batch);
  return patched;
}

async function patchBatch(tx: Sql, rows: string): Promise<number> {
  const patched = await tx.rows(sql`
    update svc.spans s
       set ${PATCH.set}
      from json_to_recordset(${rows}::json) as r (trace_id uuid, span_id uuid, patch jsonb)
      join svc.spans o on o.trace_id = r.trace_id and o.span_id = r.span_id
     cross join lateral (select ${PATCH.values}) n
     where s.trace_id = o.trace_id and s.span_id = o.span_id
       and (${PATCH.before}) is distinct from (${PATCH.after})
    returning 1`);
  return patched.length;
}

/** Deletes links, except those that are written again. */
async function dropLinks(tx: Sql, dropped: readonly DroppedLinks[], links: readonly LinkRow[]): Promise<number> {
  const removed = await tx.rows(sql`
    delete from svc.span_links l
     using json_to_recordset(${jsonText(dropped)}::json) as d (kind text, from_trace_id uuid, from_span_id uuid)
     where l.kind = d.kind and l.from_trace_id = d.from_trace_id and l.from_span_id = d.from_span_id
       and not exists (
         select 1
           from json_to_recordset(${jsonText(links)}::json)
             as k (kind text, from_trace_id uuid, from_span_id uuid, to_trace_id uuid, to_span_id uuid)
          where (k.kind, k.from_trace_id, k.from_span_id, k.to_trace_id, k.to_span_id)
              = (l.kind, l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id))
    returning 1`);
  return removed.length;
}
