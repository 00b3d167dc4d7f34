/** Stores prepared entries in their order, so that no position runs ahead of what is stored; a turn that is refused is kept aside. */
import type { JournalReader } from '../../capture/journal-reader.ts';
import type { Database } from '../../db/database.ts';
import type { TurnBatch } from '../../db/store/append-turns.ts';
import type { NewNode } from '../../db/store/new-nodes.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type DatabaseRetry, isTransient } from './database-retry.ts';
import type { FreshSlices, NewSlices } from './new-slices.ts';
import type { PreparedEntry } from './prepare-entries.ts';

export type StoreDeps = {
  database: Database;
  journal: Pick<JournalReader, 'committed'>;
  newSlices: NewSlices;
  withRetry: DatabaseRetry;
  log: Logger;
  metrics: Pick<Metrics, 'intakeTurn' | 'notCaptured'>;
  signal: AbortSignal;
  stored?: (() => void) | undefined; // turns have come in
  publish?: ((nodes: readonly NewNode[]) => void) | undefined; // these were stored for the first time
};

/** A batch that is refused is halved until the culprit is alone. @throws at the signal */
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
      (error) => isTransient(error) || (items.length === 1 && !first.call),
    );
  } catch (error) {
    if (deps.signal.aborted) throw error;
    if (items.length === 1) return park(deps, first, reasonOf(error));
    const half = items.length >> 1;
    await storeEntries(deps, items.slice(0, half));
    await storeEntries(deps, items.slice(half));
  }
}

async function append(deps: StoreDeps, items: readonly PreparedEntry[]): Promise<void> {
  const { database, journal, newSlices, metrics, stored, publish } = deps;
  const slices = items.flatMap((item) => item.slices);
  const { batch, turns } = await newSlices.storing(slices, async (fresh) => {
    const batch = { ...batchOf(items, fresh), report_nodes: publish !== undefined };
    return { batch, turns: await database.execute('appendTurns', batch) };
  });
  for (const position of batch.positions) journal.committed(position);
  for (const { outcome } of turns) {
    metrics.intakeTurn(outcome);
    if (outcome === 'undecodable') metrics.notCaptured(outcome);
  }
  for (const { outcome } of batch.counted)
    if (outcome === 'over_limit' || outcome === 'crashed') metrics.notCaptured(outcome);
  if (turns.length > 0) stored?.();
  publish?.(turns.flatMap(({ new_nodes }) => new_nodes ?? []));
}

const batchOf = (items: readonly PreparedEntry[], fresh: FreshSlices): TurnBatch => ({
  ...fresh,
  turns: items.flatMap(({ turn }) => turn ?? []),
  counted: items.flatMap(({ counted, position }) => (counted ? { ...counted, position } : [])),
  positions: [...new Map(items.map(({ position }) => [position.run_id, position])).values()],
});

/** Parks a turn that the database refuses, with its bytes. This is retried for ever: if it fails, the turn is not the cause. */
async function park(deps: StoreDeps, { call, position }: PreparedEntry, reason: string): Promise<void> {
  if (!call) throw new Error(`Cannot book a request: ${reason}`);
  const { database, journal, withRetry, log, metrics } = deps;
  const { opened, request, response } = call;
  await withRetry(
    () => database.execute('parkTurn', { opened, request, response, reason, position }),
    () => true,
  );
  journal.committed(position);
  metrics.intakeTurn('poison');
  metrics.notCaptured('poison');
  const { svc_proxy_request_id } = opened;
  log.error(
    { svc_proxy_request_id, reason },
    'Cannot store a turn: it is refused; it is kept aside in svc.parked_turns',
  );
}
