/** Prepares entries of the journal for storing, one after the other: a call may continue one that comes before it in the same batch. */

import { completeTurn, type LooseSlice, type Prepared } from '../../call/complete-turn.ts';
import type { CallMemory } from '../../call/memory.ts';
import type { CountedRequest, PreparedTurn } from '../../call/prepared-turn.ts';
import type { JournalEntry } from '../../capture/journal-calls.ts';
import type { JournalCall, JournalPosition } from '../../capture/journal-format.ts';
import type { Database } from '../../db/database.ts';
import { reasonOf } from '../../errors.ts';
import { openYielder } from '../yielder.ts';
import type { DatabaseRetry } from './database-retry.ts';
import { findPreviousCall } from './find-previous-call.ts';
import { openCall } from './open-call.ts';

/**
 * An entry of the journal, ready to be stored. `turn`, `counted` or neither; `broken` says why a call cannot be prepared. `hasCopy`: what
 * is counted was decided here, by its copy, and not by the proxy.
 */
export type PreparedEntry = {
  position: JournalPosition;
  call: JournalCall | null;
  turn: PreparedTurn | null;
  slices: LooseSlice[];
  counted: CountedRequest | null;
  hasCopy: boolean;
  broken: string | null;
};

export type PrepareDeps = {
  database: Database;
  identityKey: Uint8Array;
  memory: CallMemory;
  withRetry: DatabaseRetry;
  signal: AbortSignal;
};

/** @param before turns that are being stored meanwhile, in their order. @throws at the signal */
export async function prepareEntries(
  deps: PrepareDeps,
  entries: readonly JournalEntry[],
  before: readonly PreparedTurn[],
): Promise<PreparedEntry[]> {
  const prepared: PreparedEntry[] = [];
  const earlier = [...before];
  const yieldThread = openYielder();
  for (const entry of entries) {
    const item = await prepareEntry(deps, entry, earlier);
    prepared.push(item);
    if (item.turn) earlier.push(item.turn);
    await yieldThread();
  }
  return prepared;
}

async function prepareEntry(
  deps: PrepareDeps,
  entry: JournalEntry,
  earlier: readonly PreparedTurn[],
): Promise<PreparedEntry> {
  const { position } = entry;
  const hasCopy = entry.kind === 'call';
  const item: PreparedEntry = { position, call: null, turn: null, slices: [], counted: null, hasCopy, broken: null };
  if (entry.kind === 'finished') return item;
  if (entry.kind === 'counted') return { ...item, counted: entry.counted };
  const { call } = entry;
  try {
    const result = await prepareCall(deps, call, earlier);
    if (result.kind === 'counted') return { ...item, counted: result.counted };
    return { ...item, call, turn: result.turn, slices: result.slices };
  } catch (error) {
    if (deps.signal.aborted) throw error;
    return { ...item, call, broken: reasonOf(error) }; // a bug here: the bytes stay stored until it is fixed
  }
}

/** @throws a fault of ours, or the database's last error at the signal */
export async function prepareCall(
  { database, identityKey, memory, withRetry }: PrepareDeps,
  call: JournalCall,
  earlier: readonly PreparedTurn[],
): Promise<Prepared> {
  const opened = openCall(call, memory, identityKey);
  const continuation = { ...opened.continuation, ...opened.exchange, identity: opened.identity };
  const previous = await withRetry(() => findPreviousCall(database.execute, continuation, earlier));
  return completeTurn(opened, previous, memory);
}
