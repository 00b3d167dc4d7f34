/** `svc gc`: removes slices that nothing refers to, and gives space back; by the service that has the database open, or by itself. */
import type { LoadedConfig } from '../../config/load.ts';
import { runGc } from '../../engine/gc/run-gc.ts';
import { DatabaseError, OperatorError } from '../../errors.ts';
import type { GcReport } from '../../model/gc.ts';
import type { Io } from '../io.ts';
import { openForReading, serviceInstead } from '../open-for-reading.ts';
import { jsonText } from '../print-response.ts';
import { plain, several, sized } from '../units.ts';

const CANNOT = 'Cannot collect garbage';

/** 0: all of it was done. 1: something was left, which is named. @throws {OperatorError} */
export async function collectGarbage(
  loaded: LoadedConfig,
  { json }: { json: boolean },
  io: Pick<Io, 'out' | 'err' | 'isTerminal'>,
): Promise<0 | 1> {
  const report = await collected(loaded, io);
  io.out(json ? jsonText(report, io) : summary(report));
  if (!json)
    for (const { name, bytes, reason } of report.left) io.err(`Left: ${name} of ${sized(bytes)}: ${plain(reason)}\n`);
  return report.left.length > 0 || !report.complete ? 1 : 0;
}

async function collected(loaded: LoadedConfig, io: Pick<Io, 'err'>): Promise<GcReport> {
  const service = await serviceInstead(loaded, CANNOT, io);
  if (service)
    return service.json<GcReport>({ method: 'POST', path: '/v1/admin/gc', what: 'collect garbage', timeoutMs: null });
  const database = await openForReading(loaded, CANNOT, io);
  try {
    const report = await runGc({ execute: database.execute, signal: new AbortController().signal, inUse: false });
    if (!report) throw new OperatorError(`${CANNOT}: a collection or a backup is under way; try again when it is done`);
    return report;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(`${CANNOT}: ${error.message}`, 1, { cause: error });
  } finally {
    await database.close();
  }
}

const summary = ({ slices, slice_bytes, bytes_before, bytes_after, complete }: GcReport): string =>
  [
    slices === 0 ? 'No slice was unused' : `Removed ${several(slices, 'unused slice')} of ${sized(slice_bytes)}`,
    bytes_after < bytes_before
      ? `The database takes ${sized(bytes_after)} on disk, ${sized(bytes_before - bytes_after)} less than before`
      : `The database takes ${sized(bytes_after)} on disk, as before`,
    ...(complete ? [] : ['It was stopped before its end, as for a backup: run it again']),
    '',
  ].join('\n');
