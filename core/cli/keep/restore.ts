/** `svc restore`: writes a backup into an empty database, derives its sessions and verifies them. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { builtIn, type Reader } from '../../call/reader.ts';
import { migrationText } from '../../cassette/database/migration-text.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { CassetteSchema } from '../../db/backup/cassette-schemas.ts';
import { GrantsUnavailable } from '../../db/cassette/grants-unavailable.ts';
import { schemaOf } from '../../db/cassette/names.ts';
import type { Database } from '../../db/database.ts';
import { checkBackup, readBackup } from '../../engine/backup/read-backup.ts';
import { restoreBackup } from '../../engine/backup/restore-backup.ts';
import { runDeriveWorker } from '../../engine/derive/derive-worker.ts';
import { DatabaseError, OperatorError } from '../../errors.ts';
import { openLog } from '../../log.ts';
import { pricesWith } from '../../price/price-file.ts';
import { configuredPrices } from '../configured-prices.ts';
import type { Io } from '../io.ts';
import { jsonText } from '../print-response.ts';
import { type ProgressLine, terminalProgress } from '../progress.ts';
import { counted, plain, several, sized } from '../units.ts';
import { verifyTotals } from '../verify.ts';
import type { VerifyTotals } from '../verify-report.ts';
import { whereData } from '../where-data.ts';
import { restoreInto } from './restore-target.ts';

export type RestoreArguments = { file: string; json: boolean; cassettes: boolean };

/** What was restored, for `--json`. `left_out`: what of a cassette's schema a backup cannot hold. */
export type Restored = {
  made_at: string;
  rows: Record<string, number>;
  cassettes: string[];
  left_out: string[];
  underived_sessions: number;
  verified: VerifyTotals;
};

/** 0 when all of it is as it was written, else 1. @throws {OperatorError} nothing was restored */
export async function restore(
  loaded: LoadedConfig,
  { file, json, cassettes }: RestoreArguments,
  io: Pick<Io, 'out' | 'err' | 'cwd' | 'isTerminal'>,
): Promise<0 | 1> {
  const path = resolve(io.cwd, file);
  const progress = terminalProgress(io.err);
  const prices = await configuredPrices(loaded, io);
  const reader: Reader = { ...builtIn, ...(prices && { priceOf: pricesWith(prices, builtIn.priceOf) }) };
  try {
    const { size } = await stat(path);
    const { head, end } = await checkBackup(path, (bytes) => progress.show('checked', bytes, size));
    let restored: CassetteSchema[] = [];
    const report = await restoreInto(loaded, {
      restore: async (execute) => {
        const batches = readBackup(path, (bytes) => progress.show('restored', bytes, size));
        restored = await restoreBackup(execute, batches, { checkStatements, cassettes });
      },
      finish: async (database): Promise<Restored> => ({
        made_at: head.made_at,
        rows: end.rows,
        underived_sessions: await derive(database, reader, progress),
        cassettes: restored.map(({ cassette }) => cassette),
        left_out: restored.flatMap(({ schema, left_out }) => left_out.map((name) => `${schema}.${name}`)),
        verified: await verifyTotals(database, (sessions) =>
          progress.show('verified', sessions, end.rows['svc.sessions'] ?? 0),
        ),
      }),
    });
    progress.clear();
    const { postgres_dsn: dsn } = loaded.config.storage;
    if (json) io.out(jsonText(report, io));
    else io.out(summary(report, whereData(dsn, loaded.folder)));
    return report.verified.broken_sessions > 0 ? 1 : 0;
  } catch (error) {
    progress.clear();
    throw reported(error, path);
  }
}

function summary(
  { made_at, rows, cassettes, left_out, underived_sessions, verified }: Restored,
  where: string,
): string {
  const lines = [
    `Restored ${several(rows['svc.sessions'] ?? 0, 'session')}, ${several(rows['svc.raw_turns'] ?? 0, 'turn')}, as of ${plain(made_at)}: ${where}`,
    ...(cassettes.length > 0 ? [`With the tables of ${cassettes.map(plain).join(', ')}`] : []),
    ...left_out.map((name) => `Not in the backup: ${plain(name)}`),
    ...(underived_sessions > 0
      ? [`${several(underived_sessions, 'session')} could not be derived; 'svc status' says why once the service runs`]
      : []),
    verified.broken_sessions > 0
      ? `Broken: ${counted(verified.broken_sessions)} of ${several(verified.sessions, 'session')}; 'svc verify' names them`
      : `Checked ${several(verified.sessions, 'session')}, ${several(verified.turns, 'turn')}, ${sized(verified.bytes)}: all as written`,
  ];
  return `${lines.join('\n')}\n`;
}

/** @returns how many sessions could not be derived */
async function derive(database: Database, reader: Reader, progress: ProgressLine): Promise<number> {
  const stopping = new AbortController();
  const { queued: total } = await database.execute('derivePending', {});
  const worker = runDeriveWorker({
    ...{ database, reader, log: openLog('silent'), signal: stopping.signal },
    metrics: {
      derived: () => {},
      derivePending: ({ queue }) => progress.show('derived', total - queue, total),
    },
  });
  await worker.drained();
  stopping.abort();
  await worker.stopped;
  const { queued, parked } = await database.execute('derivePending', {});
  return queued + parked;
}

/** A backup may be from anybody: what makes a cassette's tables has to be what its migrations may do, and of its own schema. */
async function checkStatements({ cassette, schema, before, after }: CassetteSchema): Promise<void> {
  if (!/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/.test(cassette) || schema !== schemaOf(cassette))
    throw new OperatorError('Cannot restore the tables of a cassette: its name is none that a cassette can have');
  for (const statement of [...before, ...after]) {
    const checked = await migrationText(statement, schema);
    if ('why' in checked || checked.statements.length !== 1)
      throw new OperatorError(
        `Cannot restore the tables of cassette '${cassette}': ${'why' in checked ? checked.why : 'several statements in one'}`,
      );
  }
}

function reported(error: unknown, path: string): unknown {
  if (error instanceof GrantsUnavailable)
    return new OperatorError(
      `Cannot restore the tables of cassettes: ${error.message}; grant it, or leave them out with --without-cassettes`,
      1,
      { cause: error },
    );
  if (error instanceof DatabaseError) return new OperatorError(`Cannot restore: ${error.message}`, 1, { cause: error });
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof OperatorError || typeof code !== 'string') return error;
  const why = code === 'ENOENT' ? 'there is no such file' : code;
  return new OperatorError(`Cannot restore '${plain(path)}': ${why}`, 1, { cause: error });
}
