/** `svc backup`: one file with everything that cannot be derived again, from the service that runs or from the database itself. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { LoadedConfig } from '../../config/load.ts';
import { flushFolder } from '../../db/client/flush.ts';
import { checkBackup } from '../../engine/backup/read-backup.ts';
import { writeBackup } from '../../engine/backup/write-backup.ts';
import { DatabaseError, OperatorError, Refusal } from '../../errors.ts';
import type { Io } from '../io.ts';
import { openForReading, serviceInstead } from '../open-for-reading.ts';
import { terminalProgress } from '../progress.ts';
import { systemProblem } from '../system-error.ts';
import { unfinishedFile } from '../unfinished-file.ts';
import { plain, several, sized } from '../units.ts';

export type BackupOptions = { output: string; json: boolean; version: string };

/** What a backup holds, for `--json`. `rows` by table. */
export type BackedUp = { file: string; bytes: number; made_at: string; rows: Record<string, number> };

/** A file appears under its name only when it is whole and has been read back. @param output `-` is stdout */
export async function backUp(
  loaded: LoadedConfig,
  { output, json, version }: BackupOptions,
  io: Pick<Io, 'out' | 'err' | 'cwd'>,
): Promise<void> {
  if (output === '-') {
    if (process.stdout.isTTY)
      throw new OperatorError("Cannot write a backup to the terminal: name a file with '-o'", 2);
    await writeTo(process.stdout, source(loaded, version, io), () => {});
    return;
  }
  const file = resolve(io.cwd, output);
  const part = await unfinishedFile(file);
  const progress = terminalProgress(io.err);
  try {
    const written = createWriteStream(part, { mode: 0o600, flush: true });
    await writeTo(written, source(loaded, version, io), (bytes) => progress.show(`${sized(bytes)} written`, 0, 0));
    written.end();
    await once(written, 'close');
    const { size } = await stat(part);
    const { head, end } = await checkBackup(part, (bytes) => progress.show('checked', bytes, size));
    await rename(part, file);
    await flushFolder(dirname(file)).catch(() => {}); // some file systems refuse it for folders
    const made: BackedUp = { file, bytes: size, made_at: head.made_at, rows: end.rows };
    progress.clear();
    io.out(json ? `${JSON.stringify(made)}\n` : summary(made));
  } catch (error) {
    progress.clear();
    await rm(part, { force: true });
    throw reported(error, file);
  }
}

const summary = ({ file, bytes, rows }: BackedUp): string =>
  `Backed up ${several(rows['svc.sessions'] ?? 0, 'session')}, ${several(rows['svc.raw_turns'] ?? 0, 'turn')}: ${plain(file)} (${sized(bytes)})\n`;

const CANNOT = 'Cannot make a backup';

async function* source(loaded: LoadedConfig, version: string, io: Pick<Io, 'err'>): AsyncGenerator<Uint8Array, void> {
  const client = await serviceInstead(loaded, CANNOT, io);
  if (client) {
    const response = await client.response({
      path: '/v1/admin/backup',
      what: 'make a backup',
      headers: { accept: '*/*' },
      timeoutMs: null, // it waits for a sweep that is under way
    });
    try {
      yield* response as AsyncIterable<Buffer>;
    } catch (error) {
      throw new OperatorError(
        'Cannot make a backup: the service cut the connection; its log says why, and turns that are removed meanwhile are a reason',
        1,
        { cause: error },
      );
    }
    return;
  }
  const database = await openForReading(loaded, CANNOT, io).catch((error: unknown) => {
    throw ofFolder(error, loaded.folder);
  });
  try {
    yield* writeBackup({ execute: database.execute, version });
  } finally {
    await database.close();
  }
}

/** What the system refuses at the database is the folder's, and not the file's that is written. */
function ofFolder(error: unknown, folder: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof OperatorError || error instanceof DatabaseError || typeof code !== 'string') return error;
  const message = systemProblem(error) ?? `${CANNOT}: the database in '${plain(folder)}' cannot be opened (${code})`;
  return new OperatorError(message, 1, { cause: error });
}

async function writeTo(
  target: Writable,
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const failed = new Promise<never>((_, reject) => target.once('error', reject));
  failed.catch(() => {});
  let bytes = 0;
  for await (const chunk of chunks) {
    if (!target.write(chunk)) await Promise.race([once(target, 'drain'), failed]);
    bytes += chunk.byteLength;
    onBytes(bytes);
  }
}

function reported(error: unknown, file: string): unknown {
  if (error instanceof OperatorError) return error;
  if (error instanceof DatabaseError || error instanceof Refusal)
    return new OperatorError(error.message.replace(/^Cannot (finish the backup|[^:]*)/, 'Cannot make a backup'), 1, {
      cause: error,
    });
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string'
    ? new OperatorError(`Cannot write the backup to '${plain(file)}': ${code}`, 1, { cause: error })
    : error;
}
