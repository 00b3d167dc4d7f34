/** Purges a session. Its turns are read once more, since a reading makes slices that no recipe names; then all of it is deleted. */
import { setImmediate as immediately } from 'node:timers/promises';
import { type ContinuedAnswer, lastOf } from '../call/previous-call.ts';
import { builtIn } from '../call/reader.ts';
import type { Database, OperationResult } from '../db/database.ts';
import type { TurnToRead } from '../db/derive/session-turns.ts';
import { DatabaseError } from '../errors.ts';
import { openStoredSlices } from './cached-slices.ts';
import { readAgain, rereadMemory } from './derive/reread-session.ts';
import { type PageBytes, turnsInOrder } from './turns-in-order.ts';

const PAGE = 64; // turns

/** null: there was never such a session. Turns that come in after the call are not purged. */
export async function purgeSession(
  execute: Database['execute'],
  { session_id, reason }: { session_id: string; reason: string },
): Promise<OperationResult<'purgeSession'> | null> {
  const opened = await execute('openPurge', { session_id });
  if (!opened) return null;
  const { up_to } = opened;
  return execute('purgeSession', { session_id, up_to, made: await slicesMade(execute, session_id, up_to), reason });
}

/** Reads one call at a time, and yields in between: it may run beside a listener. */
async function slicesMade(execute: Database['execute'], session_id: string, up_to: number): Promise<string[]> {
  const memory = rereadMemory(builtIn);
  const slices = openStoredSlices({ execute });
  const made = new Set<string>();
  const answers = new Map<string, ContinuedAnswer>(); // by call, and by each item
  /** A request that refers to an earlier answer was read without it if that came later, else beneath it. */
  const ownSlices = async (turn: TurnToRead, bytesOf: PageBytes) => {
    const read = await readAgain(memory, turn, bytesOf, null);
    const { item_ids, item_reference } = read.call;
    const last = lastOf(read);
    if (last) for (const id of [turn.call_id, ...item_ids]) answers.set(id, last);
    const after = item_reference && (answers.get(turn.continues_call_id) ?? answers.get(item_reference));
    return after
      ? [...read.own_slices, ...(await readAgain(memory, turn, bytesOf, after)).own_slices]
      : read.own_slices;
  };
  for (let after = 0; ; ) {
    const turns = await execute('turnsToRead', { session_id, after, limit: PAGE });
    const read = turns.filter(({ raw_turn_id }) => raw_turn_id <= up_to);
    const bytesOf = await turnsInOrder({ execute }, read, slices);
    for (const turn of read) {
      try {
        for (const { slice_id } of await ownSlices(turn, bytesOf)) made.add(slice_id);
      } catch (error) {
        if (error instanceof DatabaseError) throw error; // any other error: some of its bytes are missing, and the others are deleted all the same
      }
      await immediately();
    }
    const last = turns.at(-1);
    if (!last || turns.length < PAGE || last.raw_turn_id >= up_to) return [...made];
    after = last.raw_turn_id;
  }
}
