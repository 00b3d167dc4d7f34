/** Commits the result of a fold: in one transaction, fenced by the lease. */
import { type SQL, sql } from 'drizzle-orm';
import type { LinkRow, SpanRow } from '../../derive/changes.ts';
import type { CallKey } from '../../derive/order.ts';
import { pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import { recordDerived } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { leasesOf } from './derive-queue.ts';
import { writeStates } from './derive-states.ts';
import type { ProjectionRows } from './projection-rows.ts';
import { nextRevisions, voidBefore } from './revisions.ts';
import { formerTraces, takeTraces } from './take-traces.ts';
import { lockNodes, type TranscriptCommit, writeTranscripts } from './transcript-readings.ts';
import { writeChanges } from './write-changes.ts';

export type DeriveCommit = {
  session_id: string;
  lease_token: string;
  mark: number; // of the lease
  is_new: boolean; // no row of its projection is stored, nor a state
  changes: ProjectionRows | null; // null: there was nothing to fold
  states: string[]; // rows, of the state and of new checkpoints (derive-states.ts)
  kept_checkpoints: number[]; // by the number of calls they hold; others are deleted
  /** Checkpoints from this one on are deleted; `all`: every one. With the first commit of a pass that folds calls again. */
  replace: CallKey | 'all' | null;
  /**
   * The pass folds calls again, and this is not its last commit: what earlier rules or another order made stays readable until then,
   * with the session's totals, and a pass that was broken off begins again.
   */
  replacing: boolean;
  /** With the last commit of such a pass: the rows of calls from this one on are deleted, but for those that the pass has made. */
  others: { from: CallKey | 'all'; made: MadeRows } | null;
  more: boolean; // calls are left: the lease is not released
  transcripts: TranscriptCommit | null; // with the first commit of a pass, where transcripts have something new
};

/** The keys of what a pass has made. */
export type MadeRows = {
  traces: readonly string[];
  spans: readonly Pick<SpanRow, 'trace_id' | 'span_id'>[];
  links: readonly Pick<LinkRow, 'from_trace_id' | 'from_span_id' | 'to_trace_id' | 'to_span_id' | 'kind'>[];
};

/** `committed` false: somebody else has the lease, and nothing of it was written. `again`: the session is still behind. */
export type DeriveCommitted = { session_id: string; committed: boolean; again: boolean };

/**
 * Commits the folds of several sessions together; one whose lease is lost is left out. The leases are checked first, so that nothing is
 * written in vain, and again at the end with a lock of their rows. Intake marks the same rows, and so waits for that lock only briefly.
 * Rows of several sessions are locked in the order of their ids, as intake locks them.
 */
export async function commitDerive(
  db: Sql,
  { commits }: { commits: readonly DeriveCommit[] },
): Promise<DeriveCommitted[]> {
  let held = [...commits].sort((a, b) => (a.session_id < b.session_id ? -1 : 1));
  const lost: DeriveCommitted[] = [];
  while (held.length > 0) {
    try {
      return [...(await commitHeld(db, held)), ...lost];
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      lost.push(...error.session_ids.map((session_id) => ({ session_id, committed: false, again: false })));
      held = held.filter(({ session_id }) => !error.session_ids.includes(session_id));
    }
  }
  return lost;
}

const commitHeld = (db: Sql, commits: readonly DeriveCommit[]): Promise<DeriveCommitted[]> =>
  db.transaction(async (tx) => {
    const session_ids = commits.map(({ session_id }) => session_id);
    const changes = commits.flatMap((commit) => commit.changes ?? []);
    const locked = lockAll(tx, commits);
    const revised = nextRevisions(tx, session_ids);
    const moved = formerTraces(
      tx,
      changes.flatMap(({ session_id, trace_ids }) => trace_ids.map((trace_id) => ({ trace_id, session_id }))),
    );
    const [, revisions, former] = await pipelined([locked, revised, moved]);
    const wrote = new Set<string>();
    for (const commit of commits) {
      const { session_id, others, changes } = commit;
      if (others === null) continue;
      const removed = await removeOthers(tx, session_id, others);
      if (removed > 0) await voidBefore(tx, { session_id, rev: revisions.get(session_id)?.rev ?? 0 });
      const emptied = !changes && others.from === 'all' ? await removeRollup(tx, session_id) : 0;
      if (removed + emptied > 0) wrote.add(session_id);
    }
    await takeTraces(tx, former);
    const unfinished = new Set(commits.flatMap(({ session_id, replacing }) => (replacing ? session_id : [])));
    const [written] = await pipelined([
      writeChanges(tx, changes, {
        revisions,
        unfinished,
        areNew: commits.every(({ is_new }) => is_new),
      }),
      writeAllTranscripts(tx, commits),
      writeStates(tx, commits),
    ]);
    for (const session_id of written) wrote.add(session_id);
    const [marks] = await pipelined([
      leaseMarks(tx, commits, sql`order by q.session_id for update of q`),
      recordDerived(
        tx,
        session_ids.map((session_id) => ({ session_id, wrote: wrote.has(session_id) })),
      ),
    ]);
    const committed = commits.map(({ session_id, mark }) => ({
      ...{ session_id, committed: true, again: marks.get(session_id) !== mark },
    }));
    const ended = committed.filter((_, i) => commits[i]?.more === false);
    await endLeases(tx, ended);
    return committed;
  });

/** The leases are only read: intake marks their rows, which are locked at the end. */
const lockAll = (tx: Sql, commits: readonly DeriveCommit[]) =>
  pipelined([
    useIndexes(tx),
    leaseMarks(tx, commits, sql``),
    commits.length > 1
      ? holdSessions(
          tx,
          commits.map(({ session_id }) => session_id),
        )
      : null,
    ...commits.map(({ session_id, transcripts }) => (transcripts ? lockNodes(tx, session_id) : null)),
  ]);

async function writeAllTranscripts(tx: Sql, commits: readonly DeriveCommit[]): Promise<void> {
  for (const { session_id, transcripts } of commits)
    if (transcripts) await writeTranscripts(tx, session_id, transcripts);
}

/** Rolls the transaction back. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  readonly session_ids: readonly string[];
  constructor(session_ids: readonly string[]) {
    super('Cannot commit a fold: another worker has the lease');
    this.session_ids = session_ids;
  }
}

/** The marks of the sessions in the queue. @throws {LeaseLost} */
async function leaseMarks(tx: Sql, commits: readonly DeriveCommit[], lock: SQL): Promise<Map<string, number>> {
  const leases = await tx.rows<{ session_id: string; mark: number }>(sql`
    select q.session_id, q.mark
      from ${leasesOf(commits)}
      join svc.derive_queue q on q.session_id = l.session_id and q.lease_token = l.lease_token ${lock}`);
  const marks = new Map(leases.map(({ session_id, mark }) => [session_id, mark]));
  const lost = commits.flatMap(({ session_id }) => (marks.has(session_id) ? [] : session_id));
  if (lost.length > 0) throw new LeaseLost(lost);
  return marks;
}

/** Rows that are inserted refer to their sessions, and lock them so; intake locks several as well. */
const holdSessions = (tx: Sql, session_ids: readonly string[]) =>
  tx.rows(sql`
    select session_id from svc.sessions where session_id = any(${pgArray(session_ids)}::uuid[])
     order by session_id for key share`);

/** A session that is still behind is due again, as one that has just come in. */
async function endLeases(tx: Sql, ended: readonly DeriveCommitted[]): Promise<void> {
  const ids = (again: boolean) =>
    pgArray(ended.flatMap((session) => (session.again === again ? session.session_id : [])));
  if (ended.some(({ again }) => again))
    await tx.rows(sql`
      update svc.derive_queue
         set leased_until = null, lease_token = null, attempts = 0, error = null, dirtied_at = now(), try_after = now()
       where session_id = any(${ids(true)}::uuid[])`);
  if (ended.some(({ again }) => !again))
    await tx.rows(sql`delete from svc.derive_queue where session_id = any(${ids(false)}::uuid[])`);
}

/**
 * Deletes the rows that a pass did not make again. `not exists`, which joins: `not in` compares each row with every key once these
 * exceed the working memory of a query.
 * @returns how many
 */
async function removeOthers(
  tx: Sql,
  session_id: string,
  { from, made: { traces, spans, links } }: NonNullable<DeriveCommit['others']>,
): Promise<number> {
  const ownSpans = sql`s.session_id = ${session_id} and ${from === 'all' ? sql`true` : fromCall(session_id, from)}`;
  const removedLinks = await tx.rows(sql`
    with ours as materialized (select s.trace_id, s.span_id from svc.spans s where ${ownSpans})
    delete from svc.span_links l
     where l.session_id = ${session_id}
       and ((l.from_trace_id, l.from_span_id) in (select trace_id, span_id from ours)
            or (l.to_trace_id, l.to_span_id) in (select trace_id, span_id from ours))
       and not exists (
             select 1
               from unnest(${pgArray(links.map((link) => link.from_trace_id))}::uuid[],
                           ${pgArray(links.map((link) => link.from_span_id))}::uuid[],
                           ${pgArray(links.map((link) => link.to_trace_id))}::uuid[],
                           ${pgArray(links.map((link) => link.to_span_id))}::uuid[],
                           ${pgArray(links.map((link) => link.kind))}::text[])
                 as k (from_trace_id, from_span_id, to_trace_id, to_span_id, kind)
              where (k.from_trace_id, k.from_span_id, k.to_trace_id, k.to_span_id, k.kind)
                  = (l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind))
    returning 1`);
  const removedSpans = await tx.rows(sql`
    delete from svc.spans s
     where ${ownSpans}
       and not exists (
             select 1
               from unnest(${pgArray(spans.map((span) => span.trace_id))}::uuid[],
                           ${pgArray(spans.map((span) => span.span_id))}::uuid[]) as k (trace_id, span_id)
              where (k.trace_id, k.span_id) = (s.trace_id, s.span_id))
    returning 1`);
  const removedTraces = await tx.rows(sql`
    delete from svc.traces t
     where t.session_id = ${session_id}
       and not exists (select 1 from svc.spans s where s.trace_id = t.trace_id and s.session_id = t.session_id)
       and not exists (select 1 from unnest(${pgArray(traces)}::uuid[]) as k (trace_id) where k.trace_id = t.trace_id)
    returning 1`);
  return removedLinks.length + removedSpans.length + removedTraces.length;
}

/**
 * Spans of the session's calls from this one on: of turns that came in for it, or were moved to it, and of transcripts. Calls that a
 * transcript has no longer are in no table since the first commit of the pass, so its spans are those of no call before this one. A span
 * starts at or after its call, so the index by start finds them. No subquery refers to the span: Citus joins no distributed table with another.
 */
const fromCall = (session_id: string, { requested_at, call_id }: CallKey): SQL => {
  const key = sql`(${requested_at}::timestamptz, ${call_id})`;
  const isLater = sql`(t.requested_at, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) collate "C") >= ${key}`;
  return sql`
  s.started_at >= ${requested_at}::timestamptz and case when s.call_id <> '' then s.call_id not in (
    select c.call_id from svc.transcript_calls c
     where c.session_id = ${session_id} and (c.requested_at, c.call_id collate "C") < ${key})
  else s.raw_turn_id in (
    select t.raw_turn_id from svc.raw_turns t where t.session_id = ${session_id} and ${isLater}
     union all
    select t.raw_turn_id
      from svc.raw_turn_corrections k
      join svc.raw_turns t on t.raw_turn_id = k.raw_turn_id
     where k.session_id = ${session_id} and ${isLater}) end`;
};

/** A session without a single call has no projection. */
async function removeRollup(tx: Sql, session_id: string): Promise<number> {
  const removed = await tx.rows(sql`delete from svc.session_rollups where session_id = ${session_id} returning 1`);
  await tx.rows(sql`delete from svc.derive_states where session_id = ${session_id}`);
  return removed.length;
}
