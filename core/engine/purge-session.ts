/** Purges a session. Its turns are read once more, since a reading makes slices that no recipe names; then all of it is deleted. */
import { setImmediate as immediately } from 'node:timers/promises';
import { builtIn } from '../call/reader.ts';
import type { Database, OperationResult } from '../db/database.ts';
import { DatabaseError } from '../errors.ts';
import { openStoredSlices } from './cached-slices.ts';
import { readAgain, rereadMemory } from './derive/reread-session.ts';
import { turnsInOrder } from './turns-in-order.ts';

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
  for (let after = 0; ; ) {
    const turns = await execute('turnsToRead', { session_id, after, limit: PAGE });
    const read = turns.filter(({ raw_turn_id }) => raw_turn_id <= up_to);
    const bytesOf = await turnsInOrder({ execute }, read, slices);
    for (const turn of read) {
      try {
        const { own_slices } = await readAgain(memory, turn, bytesOf, null);
        for (const { slice_id } of own_slices) made.add(slice_id);
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
