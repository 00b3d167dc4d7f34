/** Derives one session up to its newest turn: load, fold, commit, in batches that memory can hold, under a lease. */

import type { Reader } from '../../call/reader.ts';
import type { Database } from '../../db/database.ts';
import type { DeriveCommit, MadeRows } from '../../db/derive/derive-commit.ts';
import type { Lease } from '../../db/derive/derive-queue.ts';
import { stateOf, stateRows } from '../../db/derive/derive-states.ts';
import { projectionRows } from '../../db/derive/projection-rows.ts';
import type { ProjectionChanges } from '../../derive/changes.ts';
import { type Checkpoint, restoredRows, retainedCheckpoints } from '../../derive/checkpoint.ts';
import { fold } from '../../derive/fold.ts';
import { addChanges, linkKey, noChanges, rowsIn, spanKey, summed } from '../../derive/merge-changes.ts';
import { type CallKey, compareKeys, keyOf } from '../../derive/order.ts';
import { emptyState, type SessionState } from '../../derive/state.ts';
import type { CallTurn } from '../../derive/turn.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { pricedOnce } from '../../price/priced-once.ts';
import { openPrecedence, type Precedence } from '../precedence.ts';
import type { RecentReadings } from '../transcript/recent-readings.ts';
import { openYielder } from '../yielder.ts';
import { sessionEvidence } from './derive-evidence.ts';
import { type LoadedTurns, loadTurns } from './load-turns.ts';
import { rereadSession } from './reread-session.ts';

type Deps = {
  database: Database;
  reader: Reader;
  signal: AbortSignal;
  precedence?: Precedence;
  /** Called before the session's transcripts are read; what it throws ends the pass. */
  beforeReading?: (() => Promise<void>) | undefined;
  /** What was read of transcripts a moment ago. */
  readings?: RecentReadings;
  /** The most turns of one commit. */
  commitTurns?: number;
};

/** The most that one commit holds, except for the rows of its last call; a longer history is committed in several. */
const COMMIT = { turns: 2_000, bytes: 32 * 1024 * 1024 };
/** Rows of the projection in one commit. On the embedded database new turns are not stored while they are written. */
const COMMIT_ROWS = { added: 4_000, replaced: 8_000 };

/** `lost`: another worker has the lease, or the session was removed. `again`: turns came in meanwhile. `stopped`: at the signal, between two commits. */
export type DeriveEnd = { folded: number; end: 'done' | 'again' | 'lost' | 'stopped' };

/** Derives what is new of a session. A late call causes all calls after it to be folded again. @throws {DatabaseError} */
export async function deriveSession(
  { database, signal, precedence = openPrecedence(database), commitTurns = COMMIT.turns, ...deps }: Deps,
  lease: Lease,
): Promise<DeriveEnd> {
  const { session_id, lease_token, mark } = lease;
  const reader = { ...deps.reader, priceOf: pricedOnce(deps.reader.priceOf) };
  if (lease.from_scratch) await rereadSession(database, reader, session_id);
  const { evidence, differs, ...reading } = await sessionEvidence({ ...deps, database, reader }, session_id);
  const stored = await database.execute('deriveState', { session_id, version: DERIVE_VERSION, differs });
  const { up_to_seq } = stored;
  let state: SessionState = stored.state ? stateOf(stored.state) : emptyState(session_id);
  let replace = stored.state === null ? ('all' as const) : stored.replay_from;
  const replaced = replace;
  const made = madeRows();
  let { commit: transcripts, retitled } = reading;
  let isNew = stored.is_underived;
  const transcriptCalls = transcripts || stored.transcripts_follow ? await reading.turns() : [];
  let folded = 0;
  let loaded: Page = { turns: [], more: true, bytes: 0 };
  const yieldThread = openYielder();

  for (;;) {
    if (signal.aborted) return { folded, end: 'stopped' };
    const sum = noChanges();
    const checkpoints: Checkpoint[] = [];
    if ((replace !== null && replace !== 'all') || (retitled && state.turns > 0))
      addChanges(sum, restoredRows(state, evidence));
    const batch = { turns: 0, bytes: 0 };
    const mostRows = replace === null ? COMMIT_ROWS.added : COMMIT_ROWS.replaced;
    let more = true;
    while (more && batch.turns < commitTurns && batch.bytes < COMMIT.bytes && rowsIn(sum) < mostRows) {
      if (loaded.turns.length === 0) {
        const unfolded = { session_id, after: state.last, up_to_seq };
        const page = stored.has_wire ? await loadTurns(database, reader, [unfolded]) : noTurns;
        loaded = inOrder({ ...page, more: page.more.length > 0 }, transcriptCalls, state.last);
        batch.bytes += loaded.bytes;
      }
      let next = 0;
      for (; next < loaded.turns.length && rowsIn(sum) < mostRows && batch.turns + next < commitTurns; next++) {
        const turns = loaded.turns.slice(next, next + 1);
        state = fold(state, turns, { sum, checkpoints, priceOf: reader.priceOf, evidence });
        await yieldThread();
      }
      batch.turns += next;
      loaded = { ...loaded, turns: loaded.turns.slice(next) };
      more = loaded.more || loaded.turns.length > 0;
    }
    folded += batch.turns;
    const changes = summed(sum);
    if (replaced !== null && changes) made.add(changes);
    const kept_checkpoints = retainedCheckpoints(state.turns, stored.has_wire ? 'wire' : 'transcripts');
    const replacing = replaced !== null && more;
    const commit: DeriveCommit = {
      ...{ session_id, lease_token, mark, is_new: isNew, changes: changes && projectionRows(changes) },
      states: stateRows(session_id, {
        ...{ state: state.turns > 0 ? state : null, folded_seq: up_to_seq, checkpoints, kept_checkpoints, replacing },
      }),
      ...{ kept_checkpoints, replace, replacing, more, transcripts },
      others: replaced === null || more || stored.is_underived ? null : { from: replaced, made: made.rows() },
    };
    const [end] = await precedence.committing(() => database.execute('commitDerive', { commits: [commit] }));
    if (!end?.committed) return { folded, end: 'lost' };
    if (!more) return { folded, end: end.again ? 'again' : 'done' };
    [replace, transcripts, retitled, isNew] = [null, null, false, false];
  }
}

/** Collects the keys of what a pass makes, over all of its commits: a few dozen bytes a row, of long sessions alone. */
function madeRows() {
  const traces = new Set<string>();
  const spans = new Map<string, MadeRows['spans'][number]>();
  const links = new Map<string, MadeRows['links'][number]>();
  return {
    add: (changes: ProjectionChanges) => {
      for (const { trace_id } of changes.traces) traces.add(trace_id);
      for (const { trace_id, span_id } of changes.spans)
        spans.set(spanKey({ trace_id, span_id }), { trace_id, span_id });
      for (const link of changes.links) links.set(linkKey(link), link);
    },
    rows: (): MadeRows => ({ traces: [...traces], spans: [...spans.values()], links: [...links.values()] }),
  };
}

type Page = { turns: CallTurn[]; more: boolean; bytes: number };

const noTurns: LoadedTurns = { turns: [], more: [], bytes: 0 };

/** The most calls of transcripts that are folded with one page, and the most bytes of them. */
const PAGE = { turns: 256, bytes: 8 * 1024 * 1024 };

/** The next calls of both kinds in the order of the fold. After a page that is not the last, no call beyond its last one may be taken. */
function inOrder(page: Page, transcriptCalls: readonly CallTurn[], after: CallKey | null): Page {
  if (transcriptCalls.length === 0) return page;
  const last = page.turns.at(-1);
  const from = after ? firstBeyond(transcriptCalls, after) : 0;
  const until = page.more && last ? firstBeyond(transcriptCalls, keyOf(last)) : transcriptCalls.length;
  const selected: CallTurn[] = [];
  let bytes = 0;
  for (const call of transcriptCalls.slice(from, Math.min(until, from + PAGE.turns))) {
    if (bytes > PAGE.bytes) break;
    selected.push(call);
    bytes += JSON.stringify([call.fresh, call.reply]).length;
  }
  const isCut = from + selected.length < until;
  const end = isCut ? selected.at(-1) : undefined;
  const wire = end ? page.turns.filter((turn) => compareKeys(turn, end) < 0) : page.turns;
  return {
    turns: [...wire, ...selected].sort(compareKeys),
    more: page.more || isCut || wire.length < page.turns.length,
    bytes: page.bytes + bytes,
  };
}

/** How many of the calls sort up to a key. */
function firstBeyond(calls: readonly CallTurn[], key: CallKey): number {
  let [low, high] = [0, calls.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const call = calls[middle];
    if (call && compareKeys(call, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
