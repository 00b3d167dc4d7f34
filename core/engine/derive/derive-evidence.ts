/** The evidence of a session's transcripts for its fold. Read only when something in them is new, or their calls are to be folded. */

import type { Reader } from '../../call/reader.ts';
import { batches } from '../../db/batches.ts';
import type { Database } from '../../db/database.ts';
import type { Claimed } from '../../db/derive/transcript-claims.ts';
import type { TranscriptCommit, TranscriptState } from '../../db/derive/transcript-readings.ts';
import { nodeRows, type PlacedNode } from '../../db/store/insert-nodes.ts';
import { noEvidence, type TranscriptEvidence } from '../../derive/evidence.ts';
import { type CallKey, compareKeys, keyOf } from '../../derive/order.ts';
import {
  changedPrompts,
  changedThreads,
  differsOnSession,
  evidenceFrom,
  evidenceIn,
  evidenceText,
} from '../../derive/transcript/evidence.ts';
import {
  type CountedTurn,
  countedOnce,
  type Inherited,
  knownTurns,
  type TranscriptTurn,
  transcriptTurns,
  turnDigest,
} from '../../derive/transcript/turns.ts';
import type { CallTurn } from '../../derive/turn.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { type ReadTranscripts, readTranscripts } from '../transcript/read-transcript-files.ts';
import { noReadings, type RecentReadings } from '../transcript/recent-readings.ts';
import { rereadSession } from './reread-session.ts';

export type SessionEvidence = {
  evidence: TranscriptEvidence;
  /** From this call on the fold differs from what is stored because of the transcripts; null: nowhere. */
  differs: CallKey | null;
  retitled: boolean; // the session's title or working directory differs from the stored one
  commit: TranscriptCommit | null; // null: the stored reading is current
  /** The calls of transcripts that are folded, in order. Reads the files, if that has not been done yet. */
  turns(): Promise<readonly CallTurn[]>;
};

type EvidenceDeps = {
  database: Database;
  reader: Reader;
  /** What was read of transcripts a moment ago. */
  readings?: RecentReadings | undefined;
  /** Called before files are read. */
  beforeReading?: (() => Promise<void>) | undefined;
};

/** @throws {DatabaseError}, and what `beforeReading` throws */
export async function sessionEvidence(deps: EvidenceDeps, session_id: string): Promise<SessionEvidence> {
  const { database, reader, beforeReading = async () => {} } = deps;
  const state = await database.execute('transcriptState', { session_id });
  const { reading } = state;
  if (state.newest === null && !reading && !state.has_claims) return noTranscripts;
  const projected = isProjected(state);
  if (!reading || !isCurrent(state)) {
    await beforeReading();
    return newEvidence(deps, session_id, state);
  }
  return {
    ...noTranscripts,
    evidence: evidenceFrom(reading.evidence),
    turns: async () => {
      if (!projected) return [];
      await beforeReading();
      return (await projectedTurns(database, reader, session_id)).map(({ turn }) => turn);
    },
  };
}

const noTranscripts: SessionEvidence = {
  ...{ evidence: noEvidence, differs: null, retitled: false, commit: null },
  turns: async () => [],
};

/** Where a main call came over the wire, the wire holds the conversation itself, and transcripts only add its structure. */
const isProjected = ({ newest, has_main }: TranscriptState): boolean => newest !== null && !has_main;

const isCurrent = (state: TranscriptState): boolean =>
  state.reading?.read_up_to === state.newest &&
  state.reading?.claim_mark === state.claim_mark &&
  state.reading?.read_version === DERIVE_VERSION &&
  state.reading.projected === isProjected(state);

/** The calls that a session's transcripts hold, whether or not they are stored. */
export async function projectedTurns(
  database: Pick<Database, 'execute'>,
  { priceOf }: Pick<Reader, 'priceOf'>,
  session_id: string,
): Promise<CountedTurn[]> {
  const turns = transcriptTurns(session_id, (await readTranscripts(database, session_id)).sources, priceOf);
  return countedOnce(session_id, turns, inheritedIn(await database.execute('currentClaims', { session_id })));
}

const inheritedIn = ({ inherited }: Claimed): Inherited =>
  new Map(inherited.map(({ call_key, session_id }) => [call_key, session_id]));

/** The nodes of the stored calls. `elsewhere`: parents of nodes in another session. `waits`: something new has not been read yet. */
export async function storedTranscripts(
  { execute }: Pick<Database, 'execute'>,
  reader: Pick<Reader, 'priceOf'>,
  session_id: string,
): Promise<{ nodes: PlacedNode[]; elsewhere: string[]; read_up_to: number; waits: boolean }> {
  const state = await execute('transcriptState', { session_id });
  const waits = (state.newest !== null || state.reading !== null) && !isCurrent(state);
  const calls = state.reading?.projected ? await projectedTurns({ execute }, reader, session_id) : [];
  const elsewhere = calls.flatMap((call) => call.elsewhere().map(({ node_hash }) => node_hash));
  return { nodes: placedNodes(session_id, calls), elsewhere, read_up_to: state.reading?.read_up_to ?? 0, waits };
}

const placedNodes = (session_id: string, turns: readonly TranscriptTurn[]): PlacedNode[] =>
  turns.flatMap(({ turn: { raw_turn_id }, nodes }) => nodes().map((node) => ({ ...node, raw_turn_id, session_id })));

async function newEvidence(
  { database, reader, readings = noReadings }: EvidenceDeps,
  session_id: string,
  state: TranscriptState,
): Promise<SessionEvidence> {
  const projected = isProjected(state);
  const recent = readings.of(session_id);
  const read = await readTranscripts(database, session_id, recent?.parts);
  const transcriptCalls = projected ? transcriptTurns(session_id, read.sources, reader.priceOf, recent?.turns) : [];
  if (read.report.records > 0)
    // else its parts are still on their way
    readings.keep(session_id, recent && { parts: read.parts, turns: knownTurns(transcriptCalls) });
  const claimed = await database.execute('claimCalls', {
    session_id,
    claims: transcriptCalls.map(({ claim }) => claim),
  });
  const counted = countedOnce(session_id, transcriptCalls, inheritedIn(claimed));
  const { removed, changed } = await differences(database, session_id, counted);
  if (removed.length > 0 && state.has_calls) {
    // Nodes that calls over the wire also hold may be stored as a transcript's: reading all again clears what is stored of transcripts.
    await rereadSession(database, reader, session_id);
    return sessionEvidence({ database, reader, readings }, session_id);
  }
  const evidence = evidenceIn(read.threads);
  const previous = state.reading ? evidenceFrom(state.reading.evidence) : noEvidence;
  const threadStarts = await movedThreads(database, {
    session_id,
    has_calls: state.has_calls,
    previous,
    evidence,
    read,
    counted,
  });
  const turns = counted.map(({ turn }) => turn);
  return {
    evidence,
    differs: [...removed, ...changed.map(({ turn }) => keyOf(turn)), ...threadStarts].reduce<CallKey | null>(
      first,
      null,
    ),
    retitled: differsOnSession(evidence, previous),
    commit: {
      reading:
        state.newest === null
          ? null
          : {
              read_up_to: state.newest,
              read_version: DERIVE_VERSION,
              projected,
              claim_mark: claimed.mark,
              evidence: evidenceText(evidence),
              report: { ...read.report, suppressed_by_wire: projected ? 0 : read.sources.length },
            },
      gone: removed.map(({ call_id }) => call_id),
      calls: changed.map(({ turn, digest }) => ({ ...keyOf(turn), raw_turn_id: turn.raw_turn_id, digest })),
      nodes: [...batches(placedNodes(session_id, changed))].map(nodeRows),
    },
    turns: async () => turns,
  };
}

const first = (one: CallKey | null, other: CallKey): CallKey => (one && compareKeys(one, other) <= 0 ? one : other);

/** `removed`: stored, and missing or different in the transcripts. `changed`: in the transcripts, and missing or different in the store. */
async function differences(
  { execute }: Pick<Database, 'execute'>,
  session_id: string,
  counted: readonly TranscriptTurn[],
): Promise<{ removed: CallKey[]; changed: (TranscriptTurn & { digest: string })[] }> {
  const existing = await execute('projectedTranscriptCalls', { session_id });
  const known = new Map(existing.map((call) => [call.call_id, call]));
  const changed = counted
    .map((call) => ({ ...call, digest: turnDigest(call.turn) }))
    .filter(({ turn, digest }) => known.get(turn.call_id)?.digest !== digest);
  const same = new Set(counted.map(({ turn }) => turn.call_id));
  for (const { turn } of changed) same.delete(turn.call_id);
  return { removed: existing.filter(({ call_id }) => !same.has(call_id)).map(keyOf), changed };
}

type Threads = {
  session_id: string;
  has_calls: boolean; // over the wire
  previous: TranscriptEvidence;
  evidence: TranscriptEvidence;
  read: ReadTranscripts;
  counted: readonly TranscriptTurn[];
};

/** The first calls of the threads whose evidence has changed. */
async function movedThreads({ execute }: Pick<Database, 'execute'>, threads: Threads): Promise<CallKey[]> {
  const { session_id, has_calls, previous, evidence, read, counted } = threads;
  const thread_ids = changedThreads(previous, evidence);
  const wire = thread_ids.length > 0 ? await execute('firstCalls', { session_id, thread_ids }) : [];
  const own = thread_ids.flatMap((id) => counted.find(({ turn }) => turn.thread_id === id)?.turn ?? []).map(keyOf);
  const guessed = has_calls ? changedPrompts(previous, evidence).map((id) => beginning(read, id)) : [];
  return [...wire, ...own, ...guessed];
}

/** Calls that do not name their thread may belong to it: none is older than the thread, give or take a minute between clocks. */
function beginning({ threads }: ReadTranscripts, thread_id: string): CallKey {
  const at = threads.find((thread) => thread.thread_id === thread_id)?.reading.first_at;
  const ms = Math.max((at ? Date.parse(at) : 0) - 60_000, 0);
  return { requested_at: new Date(ms).toISOString().replace('Z', '000Z'), call_id: '' };
}
