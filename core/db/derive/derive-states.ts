/** The states of sessions: what a fold has to know of the calls before, as of the last call and as of checkpoints. */
import { sql } from 'drizzle-orm';
import { packSlice, unpackSlice } from '../../capture/slice-codec.ts';
import type { Checkpoint } from '../../derive/checkpoint.ts';
import type { CallKey } from '../../derive/order.ts';
import type { SessionState } from '../../derive/state.ts';
import { restoredState, type StoredState, storedState } from '../../derive/stored-state.ts';
import { parseJson } from '../../parse-json.ts';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { upsertInto } from './upsert.ts';

/** A state as its columns hold it. */
export type StateColumns = {
  state: StoredState; // where the other is not null, only the members that statements read
  compressed: Uint8Array | null; // all of it: brotli of its JSON
};

/** The same of a session that may have none. */
export type MaybeState = Pick<StateColumns, 'compressed'> & { state: StoredState | null };

type StateRow = {
  session_id: string;
  opened_at: string; // with the next, the key of the call that a checkpoint is before; 'infinity' of the state as of the last call
  opened_call_id: string;
  folded_turns: number; // of a checkpoint: the calls that it holds; else the session_seq up to which turns have been folded
  state: StoredState;
  compressed: string | null; // PostgreSQL's text form of bytes
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
    compressed: 'bytea',
  },
);

/**
 * A longer one is compressed here, in a fraction of the time that PostgreSQL takes to parse it into `jsonb` and to compress that. A shorter
 * one gains little.
 */
const SHORT = 8_000; // characters of JSON: some twenty calls

function columnsOf(state: StoredState): Pick<StateRow, 'state' | 'compressed'> {
  const text = JSON.stringify(state);
  if (text.length <= SHORT) return { state, compressed: null };
  const { codec, bytes } = packSlice(Buffer.from(text), 'fast');
  if (codec === 0) return { state, compressed: null };
  const { version, replacing, last = null } = state;
  return {
    state: { version, last, ...(replacing && { replacing }) },
    compressed: `\\x${Buffer.from(bytes).toString('hex')}`,
  };
}

/** Runs in the thread that folds, since that of an embedded database is the busier one. */
export function stateOf({ state, compressed }: StateColumns): SessionState {
  if (compressed === null) return restoredState(state);
  const bytes = unpackSlice({ codec: 1, bytes: compressed });
  return restoredState(parseJson(Buffer.from(bytes).toString()) as StoredState);
}

export type FoldedStates = {
  state: SessionState | null; // null: the session has no calls
  folded_seq: number; // turns up to this session_seq have been folded, as far as they sort before the state's last call
  checkpoints: readonly Checkpoint[];
  kept_checkpoints: readonly number[]; // by the number of calls they hold; others are not stored
  replacing: boolean; // of a pass that folds calls again, and has not ended
};

/** The rows that a commit stores, as JSON texts, in any thread. */
export function stateRows(session_id: string, folded: FoldedStates): string[] {
  const { state, folded_seq, checkpoints, kept_checkpoints, replacing } = folded;
  const rows = checkpoints
    .filter(({ state: before }) => kept_checkpoints.includes(before.turns))
    .map(({ requested_at, call_id, state: before }) =>
      upsertStates.text({
        ...{ session_id, opened_at: requested_at, opened_call_id: call_id, folded_turns: before.turns },
        ...columnsOf(storedState(before)),
      }),
    );
  if (state)
    rows.push(
      upsertStates.text({
        ...{ session_id, opened_at: 'infinity', opened_call_id: '', folded_turns: folded_seq },
        ...columnsOf({ ...storedState(state), ...(replacing && { replacing }) }),
      }),
    );
  return rows;
}

export type StateChanges = {
  session_id: string;
  is_new: boolean; // no state of it is stored
  states: readonly string[]; // rows
  kept_checkpoints: readonly number[];
  replace: CallKey | 'all' | null; // checkpoints from this one on are deleted
};

export async function writeStates(tx: Sql, changes: readonly StateChanges[]): Promise<void> {
  const stored = changes.filter(({ is_new }) => !is_new);
  for (const { session_id, replace } of stored) {
    if (replace === null) continue;
    const after =
      replace === 'all'
        ? sql`true`
        : sql`(opened_at, opened_call_id collate "C") > (${replace.requested_at}::timestamptz, ${replace.call_id})`;
    await tx.rows(sql`
      delete from svc.derive_states where session_id = ${session_id} and opened_at < 'infinity' and ${after}`);
  }
  await upsertStates.writeOnly(
    tx,
    changes.flatMap(({ states }) => states),
  );
  if (stored.length === 0) return;
  const kept = stored.map(({ session_id, kept_checkpoints }) => ({ session_id, kept: kept_checkpoints }));
  await tx.rows(sql`
    delete from svc.derive_states d
     using json_to_recordset(${jsonText(kept)}::json) as k (session_id uuid, kept integer[])
     where d.session_id = k.session_id and d.opened_at < 'infinity' and d.folded_turns <> all(k.kept)`);
}
