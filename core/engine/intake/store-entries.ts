/** Stores prepared entries in their order, so that no position runs ahead of what is stored; a turn that is refused is kept aside. */
import type { LooseSlice } from '../../call/complete-turn.ts';
import type { JournalPosition } from '../../capture/journal-format.ts';
import type { JournalReader } from '../../capture/journal-reader.ts';
import type { Database } from '../../db/database.ts';
import type { TurnBatch } from '../../db/store/append-turns.ts';
import type { NewNode } from '../../db/store/new-nodes.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Outcome } from '../../model/coverage.ts';
import { type DatabaseRetry, isSetBack, isTransient } from './database-retry.ts';
import type { NewSlices } from './new-slices.ts';
import type { PreparedEntry } from './prepare-entries.ts';

export type StoreDeps = {
  database: Database;
  journal: Pick<JournalReader, 'committed' | 'committedPositions'>;
  newSlices: NewSlices;
  withRetry: DatabaseRetry;
  log: Logger;
  metrics: Pick<Metrics, 'intakeTurn' | 'notCaptured'>;
  signal: AbortSignal;
  stored?: (() => void) | undefined; // turns have come in
  publish?: ((nodes: readonly NewNode[]) => void) | undefined; // these were stored for the first time
};

/** A batch that is refused is halved until the culprit is alone. @throws at the signal, and where the database has lost commits (isSetBack) */
export async function storeEntries(deps: StoreDeps, items: readonly PreparedEntry[]): Promise<void> {
  const [first] = items;
  if (!first) return;
  const broken = items.findIndex((item) => item.broken !== null);
  const culprit = items[broken];
  if (culprit) {
    await storeEntries(deps, items.slice(0, broken));
    await park(deps, culprit, culprit.broken ?? '');
    return storeEntries(deps, items.slice(broken + 1));
  }
  try {
    // An entry without a call holds nothing that could be refused: the cause lies elsewhere and may go away.
    await deps.withRetry(
      () => append(deps, items),
      (error) => isTransient(error) || (items.length === 1 && !first.call && !isSetBack(error)),
    );
  } catch (error) {
    if (deps.signal.aborted || isSetBack(error)) throw error;
    if (items.length === 1) return park(deps, first, reasonOf(error));
    const half = items.length >> 1;
    await storeEntries(deps, items.slice(0, half));
    await storeEntries(deps, items.slice(half));
  }
}

async function append(deps: StoreDeps, items: readonly PreparedEntry[]): Promise<void> {
  const positions = [...new Map(items.map(({ position }) => [position.run_id, position])).values()];
  await storeBatch(
    deps,
    items.flatMap(({ slices }) => slices),
    {
      turns: items.flatMap(({ turn }) => turn ?? []),
      counted: items.flatMap(({ counted, position }) => (counted ? { ...counted, position } : [])),
      positions,
      committed: committedOf(deps, positions),
      reasons: items.flatMap(({ counted, hasCopy }) => (counted && hasCopy ? counted.outcome : [])),
    },
  );
  for (const position of positions) deps.journal.committed(position);
}

/** How far these runs are stored, as far as is known here. */
function committedOf(
  { journal }: Pick<StoreDeps, 'journal'>,
  positions: readonly JournalPosition[],
): JournalPosition[] {
  const runs = new Set(positions.map(({ run_id }) => run_id));
  return journal.committedPositions().filter(({ run_id }) => runs.has(run_id));
}

/** `reasons`: of the counted ones whose copies were read here. The proxy counts the others in its own metrics. */
type Batch = Pick<TurnBatch, 'turns' | 'counted' | 'positions' | 'committed' | 'unparked'> & {
  reasons: readonly Outcome[];
};

/** In one transaction. @param slices of all its turns */
export async function storeBatch(
  { database, newSlices, metrics, stored, publish }: Omit<StoreDeps, 'journal'>,
  slices: readonly LooseSlice[],
  { reasons, ...batch }: Batch,
): Promise<void> {
  const report_nodes = publish !== undefined;
  const turns = await newSlices.storing(slices, (fresh) =>
    database.execute('appendTurns', { ...batch, ...fresh, report_nodes }),
  );
  for (const { outcome } of turns) {
    metrics.intakeTurn(outcome);
    if (outcome === 'undecodable') metrics.notCaptured(outcome);
  }
  for (const reason of reasons) metrics.notCaptured(reason);
  if (turns.length > 0) stored?.();
  publish?.(turns.flatMap(({ new_nodes }) => new_nodes ?? []));
}

/** Parks a turn that the database refuses, with its bytes. This is retried for ever: if it fails, the turn is not the cause. */
async function park(deps: StoreDeps, { call, position }: PreparedEntry, reason: string): Promise<void> {
  if (!call) throw new Error(`Cannot book a request: ${reason}`);
  const { database, journal, withRetry, log, metrics } = deps;
  await withRetry(
    () => database.execute('parkTurn', { call, reason, position, committed: committedOf(deps, [position]) }),
    (error) => !isSetBack(error),
  );
  journal.committed(position);
  metrics.intakeTurn('poison');
  metrics.notCaptured('poison');
  const { svc_proxy_request_id } = call.opened;
  log.error(
    { svc_proxy_request_id, reason },
    'Cannot store a turn: it is refused; it is set aside in svc.parked_turns, and tried again at the next start',
  );
}
