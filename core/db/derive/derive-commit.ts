/** Commits the result of a fold: in one transaction, fenced by the lease. */
import { type SQL, sql } from 'drizzle-orm';
import type { ProjectionChanges } from '../../derive/changes.ts';
import type { Checkpoint } from '../../derive/checkpoint.ts';
import type { CallKey } from '../../derive/order.ts';
import type { SessionState } from '../../derive/state.ts';
import { pgArray } from '../literals.ts';
import { recordDerived } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { nextRevision, voidBefore, voidFormerOutlines } from './revisions.ts';
import { lockNodes, type TranscriptCommit, writeTranscripts } from './transcript-readings.ts';
import { upsertInto } from './upsert.ts';
import { writeChanges } from './write-changes.ts';

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
      const { session_id, changes } = commit;
      const rev = await nextRevision(tx, session_id);
      let written = commit.replace === null ? 0 : await removeOthers(tx, commit);
      if (written > 0) await voidBefore(tx, { session_id, rev });
      if (changes) {
        await voidFormerOutlines(tx, { session_id, trace_ids: changes.traces.map(({ trace_id }) => trace_id) });
        written += await writeChanges(tx, changes, rev);
      } else if (commit.replace === 'all') written += await removeRollup(tx, commit.session_id);
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
  await upsertStates(
    tx,
    rows.map((row) => ({ ...row, session_id })),
  );
  await tx.rows(sql`
    delete from svc.derive_states
     where session_id = ${session_id} and opened_at < 'infinity'
       and folded_turns <> all(${pgArray(kept_checkpoints)}::integer[])`);
}

type StateRow = {
  session_id: string;
  opened_at: string;
  opened_call_id: string;
  folded_turns: number;
  state: SessionState;
};

const upsertStates = upsertInto<StateRow, 'session_id' | 'opened_at' | 'opened_call_id'>(
  'svc.derive_states',
  ['session_id', 'opened_at', 'opened_call_id'],
  {
    session_id: 'uuid',
    opened_at: 'timestamptz',
    opened_call_id: 'text',
    folded_turns: 'integer',
    state: 'jsonb',
  },
);
