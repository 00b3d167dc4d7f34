/** What retention will remove next and removed last, and the last garbage collection, for the status. */
import type { Database } from '../db/database.ts';
import type { Removal } from '../db/retention/removals.ts';
import { waitingPartitions } from '../engine/retention/drop-due.ts';
import { tooOld } from '../engine/retention/due-before.ts';
import { excessTurns } from '../engine/retention/excess-turns.ts';
import { FOREVER, type RetentionRules } from '../model/retention.ts';
import type { Status } from '../model/status.ts';

const COUNTED = 1_000; // sessions

/** @param rules null: nothing is removed by itself */
export async function removalsStatus(
  execute: Database['execute'],
  rules: RetentionRules | null,
  now: number,
): Promise<Pick<Status, 'retention' | 'last_gc'>> {
  const removals = await execute('lastRemovals', {});
  const last = (kind: Removal['kind']) => {
    const found = removals.find((removal) => removal.kind === kind);
    if (!found) return undefined;
    const { kind: _, ...removal } = found;
    return removal;
  };
  const gc = last('gc');
  const last_gc = gc ? { last_gc: gc } : {};
  if (!rules) return last_gc;
  const old = tooOld(rules, now);
  const waiting = waitingPartitions(await execute('partitions', {}), old);
  const [due, size] = await Promise.all([
    execute('countDue', { ...old, waiting, limit: COUNTED }),
    execute('measureStored', { record: false }),
  ]);
  const removal = last('retention');
  return {
    ...last_gc,
    retention: {
      ...(rules.days !== null && { days: rules.days }),
      ...(rules.maxBytes !== null && { max_bytes: rules.maxBytes }),
      projects: [...rules.projects].map(([project, days]) => `${project}=${days ?? FOREVER}`),
      dry_run: rules.dryRun,
      next: {
        ...{ sessions: due.sessions, raw_turns: due.turns, more: due.more },
        excess_bytes: excessTurns(size, rules.maxBytes).bytes,
      },
      free_bytes: size.free_bytes,
      ...(removal && { last: removal }),
    },
  };
}
