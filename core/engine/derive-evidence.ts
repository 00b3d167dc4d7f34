/** What do a session's transcripts say to its fold? Read only when there is something new in them, or their calls are to be folded. */
import type { Database } from '../db/database.ts';
import type { Claimed } from '../db/derive/transcript-claims.ts';
import type { TranscriptCommit, TranscriptState } from '../db/derive/transcript-readings.ts';
import type { PlacedNode } from '../db/store/put-nodes.ts';
import { noEvidence, type TranscriptEvidence } from '../derive/evidence.ts';
import { type CallKey, compareKeys, keyOf } from '../derive/order.ts';
import {
  changedPrompts,
  changedThreads,
  differsOnSession,
  evidenceFrom,
  evidenceIn,
  evidenceText,
} from '../derive/transcript/evidence.ts';
import {
  type CountedTurn,
  countedOnce,
  type Inherited,
  type TranscriptTurn,
  transcriptTurns,
  turnDigest,
} from '../derive/transcript/turns.ts';
import type { CallTurn } from '../derive/turn.ts';
import { DERIVE_VERSION } from '../derive/version.ts';
import { type ReadTranscripts, readTranscripts } from './read-transcript-files.ts';
import type { Reader } from './reader.ts';
import { rereadSession } from './reread-session.ts';

export type SessionEvidence = {
  evidence: TranscriptEvidence;
  /** From where on the fold differs from what stands because of what transcripts say; null: nowhere. */
  differs: CallKey | null;
  retitled: boolean; // the session has another title than stands, or works elsewhere
  commit: TranscriptCommit | null; // null: what has been read stands
  /** The calls of transcripts that are folded, in order. Asking reads the files, if that has not been done yet. */
  turns(): Promise<readonly CallTurn[]>;
};

/** @throws {DatabaseError} */
export async function sessionEvidence(
  database: Database,
  reader: Reader,
  session_id: string,
): Promise<SessionEvidence> {
  const state = await database.execute('transcriptState', { session_id });
  const { reading } = state;
  if (state.newest === null && !reading && !state.has_claims) return nothing;
  const projected = isProjected(state);
  if (!reading || !isCurrent(state)) return newEvidence(database, reader, session_id, state);
  return {
    ...nothing,
    evidence: evidenceFrom(reading.evidence),
    turns: async () => (projected ? (await projectedTurns(database, reader, session_id)).map(({ turn }) => turn) : []),
  };
}

const nothing: SessionEvidence = {
  ...{ evidence: noEvidence, differs: null, retitled: false, commit: null },
  turns: async () => [],
};

/** A main call over the wire tells the conversation itself; then transcripts only tell its structure. (Seed, 'States and transitions'.) */
const isProjected = ({ newest, has_main }: TranscriptState): boolean => newest !== null && !has_main;

const isCurrent = (state: TranscriptState): boolean =>
  state.reading?.read_up_to === state.newest &&
  state.reading?.claim_mark === state.claim_mark &&
  state.reading?.read_version === DERIVE_VERSION &&
  state.reading.projected === isProjected(state);

/** The calls that a session's transcripts tell of, whether or not they are what stands. */
export async function projectedTurns(
  database: Pick<Database, 'execute'>,
  { priceOf }: Pick<Reader, 'priceOf'>,
  session_id: string,
): Promise<CountedTurn[]> {
  const told = transcriptTurns(session_id, (await readTranscripts(database, session_id)).sources, priceOf);
  return countedOnce(session_id, told, inheritedIn(await database.execute('currentClaims', { session_id })));
}

const inheritedIn = ({ inherited }: Claimed): Inherited =>
  new Map(inherited.map(({ call_key, session_id }) => [call_key, session_id]));

/** The nodes of the calls that stand; `elsewhere` those that others hang on and another session holds. `waits`: something is new that has not been read yet. */
export async function storedTranscripts(
  { execute }: Pick<Database, 'execute'>,
  reader: Pick<Reader, 'priceOf'>,
  session_id: string,
): Promise<{ nodes: PlacedNode[]; elsewhere: string[]; read_up_to: number; waits: boolean }> {
  const state = await execute('transcriptState', { session_id });
  const waits = (state.newest !== null || state.reading !== null) && !isCurrent(state);
  const told = state.reading?.projected ? await projectedTurns({ execute }, reader, session_id) : [];
  const elsewhere = told.flatMap((call) => call.elsewhere.map(({ node_hash }) => node_hash));
  return { nodes: placedNodes(session_id, told), elsewhere, read_up_to: state.reading?.read_up_to ?? 0, waits };
}

const placedNodes = (session_id: string, told: readonly TranscriptTurn[]): PlacedNode[] =>
  told.flatMap(({ turn: { raw_turn_id }, nodes }) => nodes.map((node) => ({ ...node, raw_turn_id, session_id })));

async function newEvidence(
  database: Database,
  reader: Reader,
  session_id: string,
  state: TranscriptState,
): Promise<SessionEvidence> {
  const projected = isProjected(state);
  const read = await readTranscripts(database, session_id);
  const held = projected ? transcriptTurns(session_id, read.sources, reader.priceOf) : [];
  const claimed = await database.execute('claimCalls', { session_id, claims: held.map(({ claim }) => claim) });
  const told = countedOnce(session_id, held, inheritedIn(claimed));
  const { gone, changed } = await differences(database, session_id, told);
  if (gone.length > 0 && state.has_calls) {
    // What calls over the wire hold may have stood as a transcript's: all are read again, and then nothing stands of either.
    await rereadSession(database, reader, session_id);
    return sessionEvidence(database, reader, session_id);
  }
  const evidence = evidenceIn(read.threads);
  const before = state.reading ? evidenceFrom(state.reading.evidence) : noEvidence;
  const moved = await movedThreads(database, { session_id, has_calls: state.has_calls, before, evidence, read, told });
  const turns = told.map(({ turn }) => turn);
  return {
    evidence,
    differs: [...gone, ...changed.map(({ turn }) => keyOf(turn)), ...moved].reduce<CallKey | null>(first, null),
    retitled: differsOnSession(evidence, before),
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
      gone: gone.map(({ call_id }) => call_id),
      calls: changed.map(({ turn, digest }) => ({ ...keyOf(turn), raw_turn_id: turn.raw_turn_id, digest })),
      nodes: placedNodes(session_id, changed),
    },
    turns: async () => turns,
  };
}

const first = (one: CallKey | null, other: CallKey): CallKey => (one && compareKeys(one, other) <= 0 ? one : other);

/** `gone` stands and is not told, or not so; `changed` is told and does not stand so. */
async function differences(
  { execute }: Pick<Database, 'execute'>,
  session_id: string,
  told: readonly TranscriptTurn[],
): Promise<{ gone: CallKey[]; changed: (TranscriptTurn & { digest: string })[] }> {
  const standing = await execute('projectedTranscriptCalls', { session_id });
  const known = new Map(standing.map((call) => [call.call_id, call]));
  const changed = told
    .map((call) => ({ ...call, digest: turnDigest(call.turn) }))
    .filter(({ turn, digest }) => known.get(turn.call_id)?.digest !== digest);
  const same = new Set(told.map(({ turn }) => turn.call_id));
  for (const { turn } of changed) same.delete(turn.call_id);
  return { gone: standing.filter(({ call_id }) => !same.has(call_id)).map(keyOf), changed };
}

type Threads = {
  session_id: string;
  has_calls: boolean; // over the wire
  before: TranscriptEvidence;
  evidence: TranscriptEvidence;
  read: ReadTranscripts;
  told: readonly TranscriptTurn[];
};

/** Where the threads begin of which something else is known now. */
async function movedThreads({ execute }: Pick<Database, 'execute'>, threads: Threads): Promise<CallKey[]> {
  const { session_id, has_calls, before, evidence, read, told } = threads;
  const thread_ids = changedThreads(before, evidence);
  const wire = thread_ids.length > 0 ? await execute('firstCalls', { session_id, thread_ids }) : [];
  const own = thread_ids.flatMap((id) => told.find(({ turn }) => turn.thread_id === id)?.turn ?? []).map(keyOf);
  const guessed = has_calls ? changedPrompts(before, evidence).map((id) => beginning(read, id)) : [];
  return [...wire, ...own, ...guessed];
}

/** Calls that do not name their thread may be its calls: they cannot have been made before it was there, but for what clocks differ. */
function beginning({ threads }: ReadTranscripts, thread_id: string): CallKey {
  const at = threads.find((thread) => thread.thread_id === thread_id)?.reading.first_at;
  const ms = Math.max((at ? Date.parse(at) : 0) - 60_000, 0);
  return { requested_at: new Date(ms).toISOString().replace('Z', '000Z'), call_id: '' };
}
