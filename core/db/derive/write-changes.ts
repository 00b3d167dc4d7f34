/** Writes what a fold changed: rows of the projection, patches of spans, links. Rows that would not change are not written. */
import { type SQL, sql } from 'drizzle-orm';
import type { DroppedLinks, LinkRow, SpanPatch, SpanRow } from '../../derive/changes.ts';
import type { SpanOutline } from '../../derive/span-outline.ts';
import { outlineTypes, spanTypes } from '../columns/span.ts';
import { jsonRows, jsonText, pgArray, withMembers } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';
import {
  type LinkKeyColumn,
  type ProjectionRows,
  upsertLinks,
  upsertRollups,
  upsertSpans,
  upsertTraces,
} from './projection-rows.ts';
import type { Revision } from './revisions.ts';

type WriteOptions = {
  /** The revision of each session that the changes lead to. */
  revisions: ReadonlyMap<string, Revision>;
  /** Sessions of which calls are folded again and some are left: their rollups stay as they are, which count all calls. */
  unfinished?: ReadonlySet<string>;
  /** No row of any of these sessions is stored. */
  areNew?: boolean;
};

/**
 * Writes the changes of some sessions.
 * @returns the sessions of which rows have changed
 */
export async function writeChanges(
  tx: Sql,
  changes: readonly ProjectionRows[],
  { revisions, unfinished = new Set(), areNew = false }: WriteOptions,
): Promise<Set<string>> {
  const revised = (name: 'traces' | 'spans' | 'patches'): string[] =>
    changes.flatMap((one) => {
      const revision = revisions.get(one.session_id) ?? { rev: 0, partition_no: 0 };
      return one[name].map((row) => withMembers(row, revision));
    });
  const links = changes.flatMap((one) => one.links);
  const dropped = changes.flatMap((one) => one.dropped);
  const rollups = changes.flatMap(({ session_id, rollup }) => (unfinished.has(session_id) ? [] : rollup));
  const write = areNew ? 'writeOnly' : 'write';
  const written = await pipelined([
    upsertTraces[write](tx, revised('traces')),
    upsertSpans[write](tx, revised('spans')),
    patchSpans(tx, revised('patches')),
    areNew ? upsertLinks.writeOnly(tx, links) : writeLinks(tx, { links, dropped }),
    upsertRollups[write](tx, rollups),
  ]);
  if (areNew) return new Set(changes.map(({ session_id }) => session_id));
  const [, spans, patched, changedLinks] = written;
  await reviseEnds(tx, changedLinks, { revised: [...spans, ...patched], revisions });
  return new Set(written.flatMap((rows) => rows.map(({ session_id }) => session_id)));
}

/** @returns the links that were deleted or written */
async function writeLinks(
  tx: Sql,
  { links, dropped }: { links: readonly string[]; dropped: readonly (DroppedLinks & { session_id: string })[] },
): Promise<Pick<LinkRow, LinkKeyColumn>[]> {
  const removed = dropped.length > 0 ? await dropLinks(tx, dropped, links) : [];
  return links.length > 0 ? [...removed, ...(await upsertLinks.write(tx, links))] : removed;
}

type SpanKey = Pick<SpanRow, 'session_id' | 'trace_id' | 'span_id'>;

/** A link has no revision: a reader gets it with the spans that it joins, so that one of these is in the revision too. */
async function reviseEnds(
  tx: Sql,
  links: readonly Pick<LinkRow, LinkKeyColumn>[],
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

/** Columns that a patch may name, and those that follow from them; `nullable`: a null that it names is written, else it stands for no change. */
const PATCHED: Record<
  Exclude<keyof SpanPatch | keyof SpanOutline, 'trace_id' | 'span_id' | InputOutline>,
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
async function patchSpans(tx: Sql, patches: readonly string[]): Promise<SpanKey[]> {
  const patched: SpanKey[] = [];
  for (const batch of jsonBatches(patches)) for (const key of await patchBatch(tx, batch)) patched.push(key);
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
    returning s.session_id, s.trace_id, s.span_id`);

/** Deletes links, except those that are written again. */
const dropLinks = (
  tx: Sql,
  dropped: readonly (DroppedLinks & { session_id: string })[],
  links: readonly string[],
): Promise<Pick<LinkRow, LinkKeyColumn>[]> =>
  tx.rows<Pick<LinkRow, LinkKeyColumn>>(sql`
    delete from svc.span_links l
     using json_to_recordset(${jsonText(dropped)}::json)
             as d (session_id uuid, kind text, from_trace_id uuid, from_span_id uuid)
     where l.session_id = d.session_id and l.kind = d.kind
       and l.from_trace_id = d.from_trace_id and l.from_span_id = d.from_span_id
       and (l.session_id, l.kind, l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id) not in (
         select k.session_id, k.kind, k.from_trace_id, k.from_span_id, k.to_trace_id, k.to_span_id
           from json_to_recordset(${jsonRows(links)}::json)
             as k (session_id uuid, kind text, from_trace_id uuid, from_span_id uuid, to_trace_id uuid, to_span_id uuid))
    returning l.session_id, l.kind, l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id`);
