/** Stored readings of a session's transcripts, and which of their calls are in its projection. */
import { sql } from 'drizzle-orm';
import type { CallKey } from '../../derive/order.ts';
import type { EvidenceText } from '../../derive/transcript/evidence.ts';
import type { Identity } from '../../model/identity.ts';
import type { TranscriptReport } from '../../model/transcript-report.ts';
import { batches } from '../batches.ts';
import { countReturned } from '../budget/removed-spend.ts';
import { instant, jsonText, pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { insertNodes, type NodeRows } from '../store/insert-nodes.ts';
import { effectiveIdentity } from './effective-identity.ts';
import { claimMarkOf } from './transcript-claims.ts';
import { newestTranscriptIn } from './transcript-files.ts';

/** `projected`: its transcripts' calls are in the projection, since no main call with a response came over the wire. */
export type StoredReading = {
  read_up_to: number;
  read_version: number;
  projected: boolean;
  claim_mark: number; // of the claims that it was read with
  evidence: EvidenceText;
};

/** `newest`: the highest raw_turn_id of a transcript. `has_main`: a main call with a response came over the wire. */
export type TranscriptState = {
  newest: number | null;
  has_calls: boolean;
  has_main: boolean;
  claim_mark: number; // the current one
  has_claims: boolean; // perhaps of former readings, when there is no current one
  reading: StoredReading | null;
};

/**
 * The facts that decide whether transcripts have to be read, in one statement, since every pass of derivation begins with it. Reads a
 * few index entries, whatever the session's size.
 */
export async function transcriptState(db: Sql, { session_id }: { session_id: string }): Promise<TranscriptState> {
  const [found] = await db.rows<TranscriptState>(sql`
    select ${newestTranscriptIn(session_id)} as newest,
           exists (select 1 from svc.calls c where c.session_id = ${session_id}::uuid) as has_calls,
           exists (
             select 1 from svc.calls c
              where c.session_id = ${session_id}::uuid and c.kind = 'main' and c.leaf_hash is not null) as has_main,
           ${claimMarkOf(session_id)} as claim_mark,
           exists (select 1 from svc.transcript_claims k where k.session_id = ${session_id}::uuid) as has_claims,
           (select jsonb_build_object('read_up_to', x.read_up_to, 'read_version', x.read_version, 'projected', x.projected,
                                      'claim_mark', x.claim_mark, 'evidence', x.evidence)
              from svc.transcript_readings x where x.session_id = ${session_id}::uuid) as reading`);
  return found ?? noTranscripts;
}

const noTranscripts: TranscriptState = {
  ...{ newest: null, has_calls: false, has_main: false },
  ...{ claim_mark: 0, has_claims: false, reading: null },
};

/** A projected call of a transcript. `digest` in hex. */
export type ProjectedTranscriptCall = CallKey & { digest: string };

export const projectedTranscriptCalls = (
  db: Sql,
  { session_id }: { session_id: string },
): Promise<ProjectedTranscriptCall[]> =>
  db.rows<ProjectedTranscriptCall>(sql`
    select ${instant(sql`c.requested_at`)} as requested_at, c.call_id, encode(c.digest, 'hex') as digest
      from svc.transcript_calls c
     where c.session_id = ${session_id}`);

/** A file's uploads: the first one's id, and the identity that the latest has. */
export type TranscriptUploads = { main: boolean; agent_id: string; first_id: number; identity: Identity };

/** Grouped by the main file and the agents, all lifecycles of an agent together. */
export const transcriptUploads = (db: Sql, { session_id }: { session_id: string }): Promise<TranscriptUploads[]> =>
  db.rows<TranscriptUploads>(sql`
    with own as (
      select t.raw_turn_id, t.identity, e.correction_id is not null as corrected, e.thread_id, e.parent_harness_session_id,
             (t.meta #>> '{transcript,main}')::boolean as main, t.meta #>> '{transcript,agent_id}' as agent_id, t.harness_id
        from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid and r.source = 'transcript'
              union
              select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) o
        join svc.effective_turns e on e.raw_turn_id = o.raw_turn_id and e.session_id = ${session_id}::uuid
        join svc.raw_turns t on t.raw_turn_id = o.raw_turn_id and t.source = 'transcript'
    )
    select distinct on (t.main, t.agent_id) t.main, t.agent_id,
           min(t.raw_turn_id) over (partition by t.main, t.agent_id) as first_id,
           ${effectiveIdentity(sql`t.corrected`, sql`t.thread_id`, sql`t.parent_harness_session_id`)} as identity
      from own t
      join svc.sessions s on s.session_id = ${session_id}::uuid
     order by t.main, t.agent_id, t.raw_turn_id desc`);

/** The first call over the wire of each of these threads. */
export const firstCalls = (
  db: Sql,
  { session_id, thread_ids }: { session_id: string; thread_ids: string[] },
): Promise<CallKey[]> =>
  db.rows<CallKey>(sql`
    select distinct on (t.thread_id) ${instant(sql`t.requested_at`)} as requested_at,
           coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id
      from svc.raw_turns t
     where t.session_id = ${session_id} and t.source = 'wire' and t.thread_id = any(${pgArray(thread_ids)}::text[])
     order by t.thread_id, t.requested_at, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) collate "C"`);

/** A new reading, and its differences from the stored one. */
export type TranscriptCommit = {
  reading: (StoredReading & { report: TranscriptReport }) | null; // null: there is no transcript any more
  gone: string[]; // calls that are no longer in it, or have changed
  calls: (CallKey & { raw_turn_id: number; digest: string })[]; // new or changed ones
  nodes: NodeRows[]; // of these, some at a time
};

/** Intake writes nodes under this lock, and takes it before it marks the session. */
export const lockNodes = (tx: Sql, session_id: string) =>
  tx.rows(sql`select session_id from svc.sessions where session_id = ${session_id} for update`);

/** Within a transaction that holds `lockNodes`. */
export async function writeTranscripts(
  tx: Sql,
  session_id: string,
  { reading, gone, calls, nodes }: TranscriptCommit,
): Promise<void> {
  await pipelined([
    replaceCalls(tx, session_id, { gone, calls }),
    replaceCallNodes(tx, session_id, { gone, nodes }),
    writeReading(tx, session_id, reading),
    reading ? countReturned(tx, session_id, reading.claim_mark) : null,
  ]);
}

async function replaceCalls(
  tx: Sql,
  session_id: string,
  { gone, calls }: Pick<TranscriptCommit, 'gone' | 'calls'>,
): Promise<void> {
  if (gone.length > 0)
    await tx.rows(sql`
      delete from svc.transcript_calls where session_id = ${session_id} and call_id = any(${pgArray(gone)}::text[])`);
  for (const rows of batches(calls))
    await tx.rows(sql`
      insert into svc.transcript_calls (session_id, requested_at, call_id, raw_turn_id, digest)
      select ${session_id}::uuid, r.requested_at, r.call_id, r.raw_turn_id, decode(r.digest, 'hex')
        from json_to_recordset(${jsonText(rows)}::json)
          as r (requested_at timestamptz, call_id text, raw_turn_id bigint, digest text)`);
}

async function replaceCallNodes(
  tx: Sql,
  session_id: string,
  { gone, nodes }: Pick<TranscriptCommit, 'gone' | 'nodes'>,
): Promise<void> {
  const parents = gone.length > 0 ? await removeNodes(tx, session_id, gone) : [];
  let hasNodes = nodes.length > 0 && (await anyNode(tx, session_id));
  for (const rows of nodes) {
    await insertNodes(tx, rows, !hasNodes);
    hasNodes = true;
  }
  if (parents.length > 0) await mendHeads(tx, session_id, parents);
}

async function anyNode(tx: Sql, session_id: string): Promise<boolean> {
  const found = await tx.rows(sql`select 1 from svc.nodes n where n.session_id = ${session_id}::uuid limit 1`);
  return found.length > 0;
}

async function writeReading(tx: Sql, session_id: string, reading: TranscriptCommit['reading']): Promise<void> {
  if (!reading) {
    await tx.rows(sql`delete from svc.transcript_readings where session_id = ${session_id}`);
    return;
  }
  const { read_up_to, read_version, projected, claim_mark, evidence, report } = reading;
  await tx.rows(sql`
    insert into svc.transcript_readings (session_id, read_up_to, read_version, projected, claim_mark, evidence, report)
    values (${session_id}, ${read_up_to}, ${read_version}, ${projected}, ${claim_mark}, ${jsonText(evidence)}::jsonb,
            ${jsonText(report)}::jsonb)
    on conflict (session_id) do update set
      read_up_to = excluded.read_up_to, read_version = excluded.read_version, projected = excluded.projected,
      claim_mark = excluded.claim_mark, evidence = excluded.evidence, report = excluded.report`);
}

/** @returns the parents of the deleted nodes */
async function removeNodes(tx: Sql, session_id: string, gone: readonly string[]): Promise<string[]> {
  const removed = await tx.rows<{ parent_hash: string | null }>(sql`
    delete from svc.nodes where session_id = ${session_id} and call_id = any(${pgArray(gone)}::text[])
    returning encode(parent_hash, 'hex') as parent_hash`);
  return [...new Set(removed.map(({ parent_hash }) => parent_hash).filter((hash) => hash !== null))];
}

/** Marks as heads again those of the nodes that have no child any more. */
export const mendHeads = (tx: Sql, session_id: string, parents: readonly string[]) =>
  tx.rows(sql`
    update svc.nodes n set is_head = true
     where n.session_id = ${session_id} and encode(n.node_hash, 'hex') = any(${pgArray(parents)}::text[]) and n.injected = ''
       and not n.is_head
       and not exists (
         select 1 from svc.nodes c where c.session_id = n.session_id and c.parent_hash = n.node_hash and c.injected = '')`);
