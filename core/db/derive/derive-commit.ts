/** Writes the result of a fold as rows: in one transaction, fenced by the lease; rows that would not change are not written. */
import { type SQL, sql } from 'drizzle-orm';
import type { DroppedLinks, LinkRow, ProjectionChanges, SpanPatch } from '../../derive/changes.ts';
import type { Checkpoint } from '../../derive/checkpoint.ts';
import type { CallKey } from '../../derive/order.ts';
import type { SessionState } from '../../derive/state.ts';
import { jsonText, pgArray } from '../literals.ts';
import { recordDerived } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';
import { LINK, LINK_KEY, ROLLUP, SPAN, TRACE } from './projection-columns.ts';
import { lockNodes, type TranscriptCommit, writeTranscripts } from './transcript-readings.ts';

export type DeriveCommit = {
  session_id: string;
  lease_token: string;
  mark: number; // of the lease
  changes: ProjectionChanges | null; // null: there was nothing to fold
  state: SessionState | null;
  folded_seq: number; // turns up to this session_seq have been folded, as far as they sort before the state's last call
  checkpoints: Checkpoint[];
  kept_checkpoints: number[]; // by the number of calls they hold; others are deleted
  /** Rows of calls from this one on are deleted unless this fold made them again; `all`: those of every call. */
  replace: CallKey | 'all' | null;
  more: boolean; // calls are left: the lease is not released
  transcripts: TranscriptCommit | null; // with the first commit of a pass, where transcripts have something new
};

/** `committed` false: somebody else has the lease, and nothing was written. `again`: the session is still behind. */
export type DeriveCommitted = { committed: boolean; again: boolean };

/**
 * The lease is checked first, so that nothing is written in vain, and again at the end with a lock of its row. Intake marks the same
 * row, and so waits for that lock only briefly.
 */
export async function commitDerive(db: Sql, commit: DeriveCommit): Promise<DeriveCommitted> {
  try {
    return await db.transaction(async (tx) => {
      await leaseMark(tx, commit, sql``);
      if (commit.transcripts) await lockNodes(tx, commit.session_id);
      let written = commit.replace === null ? 0 : await removeOthers(tx, commit);
      if (commit.changes) written += await writeChanges(tx, commit.changes);
      else if (commit.replace === 'all') written += await removeRollup(tx, commit.session_id);
      if (commit.transcripts) await writeTranscripts(tx, commit.session_id, commit.transcripts);
      await writeStates(tx, commit);
      const again = (await leaseMark(tx, commit, sql`for update`)) !== commit.mark;
      await recordDerived(tx, { session_id: commit.session_id, wrote: written > 0 });
      if (!commit.more) await endLease(tx, commit.session_id, again);
      return { committed: true, again };
    });
  } catch (error) {
    if (error instanceof LeaseLost) return { committed: false, again: false };
    throw error;
  }
}

/** Rolls the transaction back. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

async function leaseMark(tx: Sql, { session_id, lease_token }: DeriveCommit, lock: SQL): Promise<number> {
  const [lease] = await tx.rows<{ mark: number }>(sql`
    select mark from svc.derive_queue where session_id = ${session_id} and lease_token = ${lease_token} ${lock}`);
  if (!lease) throw new LeaseLost('Cannot commit a fold: another worker has the lease');
  return lease.mark;
}

const endLease = (tx: Sql, session_id: string, again: boolean) =>
  tx.rows(
    again
      ? sql`update svc.derive_queue
               set leased_until = null, lease_token = null, attempts = 0, error = null, dirtied_at = now(), try_after = now()
             where session_id = ${session_id}`
      : sql`delete from svc.derive_queue where session_id = ${session_id}`,
  );

/** Deletes the rows that this fold did not make again. @returns how many */
async function removeOthers(tx: Sql, { session_id, replace, changes }: DeriveCommit): Promise<number> {
  const spans = changes?.spans ?? [];
  const links = changes?.links ?? [];
  const ownSpans = sql`s.session_id = ${session_id} and ${replace === 'all' || replace === null ? sql`true` : fromCall(replace)}`;
  const removedLinks = await tx.rows(sql`
    with ours as materialized (select s.trace_id, s.span_id from svc.spans s where ${ownSpans})
    delete from svc.span_links l
     where l.session_id = ${session_id}
       and ((l.from_trace_id, l.from_span_id) in (select trace_id, span_id from ours)
            or (l.to_trace_id, l.to_span_id) in (select trace_id, span_id from ours))
       and (l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind) not in (
             select k.from_trace_id, k.from_span_id, k.to_trace_id, k.to_span_id, k.kind
               from unnest(${pgArray(links.map((link) => link.from_trace_id))}::uuid[],
                           ${pgArray(links.map((link) => link.from_span_id))}::uuid[],
                           ${pgArray(links.map((link) => link.to_trace_id))}::uuid[],
                           ${pgArray(links.map((link) => link.to_span_id))}::uuid[],
                           ${pgArray(links.map((link) => link.kind))}::text[])
                 as k (from_trace_id, from_span_id, to_trace_id, to_span_id, kind))
    returning 1`);
  const removedSpans = await tx.rows(sql`
    delete from svc.spans s
     where ${ownSpans}
       and (s.trace_id, s.span_id) not in (
             select k.trace_id, k.span_id
               from unnest(${pgArray(spans.map((span) => span.trace_id))}::uuid[],
                           ${pgArray(spans.map((span) => span.span_id))}::uuid[]) as k (trace_id, span_id))
    returning 1`);
  const removedTraces = await tx.rows(sql`
    delete from svc.traces t
     where t.session_id = ${session_id}
       and not exists (select 1 from svc.spans s where s.trace_id = t.trace_id)
       and t.trace_id <> all(${pgArray((changes?.traces ?? []).map((trace) => trace.trace_id))}::uuid[])
    returning 1`);
  return removedLinks.length + removedSpans.length + removedTraces.length;
}

/** Spans of the calls from this one on. A span starts at or after its call, so the index by start finds them. */
const fromCall = ({ requested_at, call_id }: CallKey): SQL => sql`
  s.started_at >= ${requested_at}::timestamptz and case when s.call_id <> '' then exists (
    select from svc.transcript_calls c
     where c.session_id = s.session_id and c.call_id = s.call_id
       and (c.requested_at, c.call_id collate "C") >= (${requested_at}::timestamptz, ${call_id}))
  else exists (
    select 1 from svc.raw_turns t
     where t.raw_turn_id = s.raw_turn_id
       and (t.requested_at, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) collate "C")
           >= (${requested_at}::timestamptz, ${call_id})) end`;

/** A session without a single call has no projection. */
async function removeRollup(tx: Sql, session_id: string): Promise<number> {
  const removed = await tx.rows(sql`delete from svc.session_rollups where session_id = ${session_id} returning 1`);
  await tx.rows(sql`delete from svc.derive_states where session_id = ${session_id}`);
  return removed.length;
}

/** Writes the changes. @returns how many rows have changed */
async function writeChanges(
  tx: Sql,
  { traces, spans, patches, links, dropped, rollup }: ProjectionChanges,
): Promise<number> {
  let written = 0;
  if (traces.length > 0) written += await upsert(tx, 'svc.traces', ['trace_id'], TRACE, traces);
  if (spans.length > 0) {
    written += await upsert(
      tx,
      'svc.spans',
      ['trace_id', 'span_id'],
      SPAN,
      spans.map((span) => ({ ...span, node_hash: hexBytes(span.node_hash) })),
    );
  }
  if (patches.length > 0) written += await patchSpans(tx, patches);
  if (dropped.length > 0) written += await dropLinks(tx, dropped, links);
  if (links.length > 0) written += await upsert(tx, 'svc.span_links', LINK_KEY, LINK, links);
  return written + (await upsert(tx, 'svc.session_rollups', ['session_id'], ROLLUP, [rollup]));
}

/** bytea as a JSON string: PostgreSQL parses this text form. */
const hexBytes = (hex: string | null) => (hex === null ? null : `\\x${hex}`);

/** Inserts or updates rows; an identical row is not written. @returns how many were written */
async function upsert(
  tx: Sql,
  table: string,
  key: string[],
  columns: Record<string, string>,
  rows: object[],
): Promise<number> {
  let written = 0;
  for (const batch of jsonBatches(rows)) written += await upsertBatch(tx, table, key, columns, batch);
  return written;
}

async function upsertBatch(
  tx: Sql,
  table: string,
  key: string[],
  columns: Record<string, string>,
  rows: string,
): Promise<number> {
  const names = Object.keys(columns);
  const otherColumns = names.filter((name) => !key.includes(name));
  const list = (of: string[], prefix = '') => sql.raw(of.map((name) => `${prefix}${name}`).join(', '));
  const written = await tx.rows(sql`
    insert into ${sql.raw(table)} as t (${list(names)})
    select ${list(names, 'r.')}
      from json_to_recordset(${rows}::json)
        as r (${sql.raw(
          Object.entries(columns)
            .map(([name, type]) => `${name} ${type}`)
            .join(', '),
        )})
    on conflict (${list(key)}) do update set ${sql.raw(otherColumns.map((name) => `${name} = excluded.${name}`).join(', '))}
     where (${list(otherColumns, 't.')}) is distinct from (${list(otherColumns, 'excluded.')})
    returning 1`);
  return written.length;
}

/** A field that a patch does not name stays as it is; a null that it names is written. */
async function patchSpans(tx: Sql, patches: readonly SpanPatch[]): Promise<number> {
  let patched = 0;
  const rows = patches.map(({ trace_id, span_id, ...patch }) => ({ trace_id, span_id, patch }));
  for (const batch of jsonBatches(rows)) patched += await patchBatch(tx, batch);
  return patched;
}

async function patchBatch(tx: Sql, rows: string): Promise<number> {
  const patched = await tx.rows(sql`
    update svc.spans s
       set parent_span_id = n.parent_span_id, status = n.status, error_type = n.error_type, ended_at = n.ended_at,
           duration_ns = n.duration_ns, name = n.name, description = n.description, output = n.output,
           verdict = n.verdict, totals = n.totals
      from json_to_recordset(${rows}::json) as r (trace_id uuid, span_id uuid, patch jsonb)
      join svc.spans o on o.trace_id = r.trace_id and o.span_id = r.span_id
     cross join lateral (
       select coalesce((r.patch ->> 'parent_span_id')::uuid, o.parent_span_id) as parent_span_id,
              coalesce(r.patch ->> 'status', o.status) as status,
              coalesce(r.patch ->> 'error_type', o.error_type) as error_type,
              case when jsonb_exists(r.patch, 'ended_at') then (r.patch ->> 'ended_at')::timestamptz else o.ended_at end as ended_at,
              case when jsonb_exists(r.patch, 'duration_ns') then (r.patch ->> 'duration_ns')::bigint else o.duration_ns end
                as duration_ns,
              coalesce(r.patch ->> 'name', o.name) as name,
              coalesce(r.patch ->> 'description', o.description) as description,
              coalesce(r.patch -> 'totals', o.totals) as totals,
              coalesce(r.patch -> 'output', o.output) as output,
              case when jsonb_exists(r.patch, 'verdict') then nullif(r.patch -> 'verdict', 'null'::jsonb) else o.verdict end
                as verdict) n
     where s.trace_id = o.trace_id and s.span_id = o.span_id
       and (o.parent_span_id, o.status, o.error_type, o.ended_at, o.duration_ns, o.name, o.description, o.output, o.verdict,
            o.totals)
           is distinct from
           (n.parent_span_id, n.status, n.error_type, n.ended_at, n.duration_ns, n.name, n.description, n.output, n.verdict,
            n.totals)
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

async function writeStates(tx: Sql, commit: DeriveCommit): Promise<void> {
  const { session_id, state, folded_seq, checkpoints, replace, kept_checkpoints } = commit;
  if (replace !== null) {
    const after =
      replace === 'all'
        ? sql`true`
        : sql`(opened_at, opened_call_id collate "C") > (${replace.requested_at}::timestamptz, ${replace.call_id})`;
    await tx.rows(sql`
      delete from svc.derive_states where session_id = ${session_id} and opened_at < 'infinity' and ${after}`);
  }
  const rows = [
    ...checkpoints.map(({ requested_at, call_id, state: before }) => ({
      opened_at: requested_at,
      opened_call_id: call_id,
      folded_turns: before.turns,
      state: before,
    })),
    ...(state ? [{ opened_at: 'infinity', opened_call_id: '', folded_turns: folded_seq, state }] : []),
  ];
  if (rows.length > 0) {
    const key = ['session_id', 'opened_at', 'opened_call_id'];
    await upsert(
      tx,
      'svc.derive_states',
      key,
      STATE,
      rows.map((row) => ({ ...row, session_id })),
    );
  }
  await tx.rows(sql`
    delete from svc.derive_states
     where session_id = ${session_id} and opened_at < 'infinity'
       and folded_turns <> all(${pgArray(kept_checkpoints)}::integer[])`);
}

const STATE = {
  session_id: 'uuid',
  opened_at: 'timestamptz',
  opened_call_id: 'text',
  folded_turns: 'integer',
  state: 'jsonb',
};
