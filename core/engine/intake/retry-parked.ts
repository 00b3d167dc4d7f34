/** Stores calls that were set aside, once what refused them is mended: by a newer version, as a rule, or in the database. */
import { reasonOf } from '../../errors.ts';
import { type PrepareDeps, prepareCall } from './prepare-entries.ts';
import { type StoreDeps, storeBatch } from './store-entries.ts';

type Deps = PrepareDeps & Omit<StoreDeps, 'journal'>;

/**
 * Each is tried once. One that is refused again stays where it is.
 * @returns tries the next one; false: there is none left. It throws at the signal
 */
export function openParkedRetry(deps: Deps): () => Promise<boolean> {
  const { database, withRetry, signal, log } = deps;
  const results = { stored: 0, refused: 0 };
  let waiting: string[] | undefined;

  const idsOf = async (): Promise<string[]> => {
    try {
      return await withRetry(() => database.execute('parkedCalls', {}));
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ reason: reasonOf(error) }, 'Cannot read which calls were set aside: they are tried at the next start');
      return [];
    }
  };

  return async () => {
    waiting ??= await idsOf();
    const id = waiting.shift();
    if (id === undefined) return false;
    try {
      if (await withRetry(() => storeParked(deps, id))) results.stored++;
    } catch (error) {
      if (signal.aborted) throw error;
      results.refused++;
    }
    if (waiting.length === 0 && results.stored > 0) log.info(results, 'Calls that had been set aside are stored now');
    return true;
  };
}

/** False when another process has stored it, or a purge came in between. */
async function storeParked(deps: Deps, id: string): Promise<boolean> {
  const call = await deps.database.execute('parkedCall', { id });
  if (!call) return false;
  const prepared = await prepareCall(deps, call, []);
  if (prepared.kind === 'turn') {
    const { slices, turn } = prepared;
    await storeBatch(deps, slices, { turns: [turn], counted: [], positions: [], unparked: [id], reasons: [] });
  } else {
    const counted = [{ ...prepared.counted, position: null }];
    await storeBatch(deps, [], {
      turns: [],
      counted,
      positions: [],
      unparked: [id],
      reasons: [prepared.counted.outcome],
    });
  }
  return true;
}
