/** `svc backup`: one file with everything that cannot be derived again, from the service that runs or from the database itself. */

import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { flushFolder } from '../../db/client/flush.ts';
import { checkBackup } from '../../engine/backup/read-backup.ts';
import { writeBackup } from '../../engine/backup/write-backup.ts';
import { DatabaseError, OperatorError, Refusal } from '../../errors.ts';
import type { Io } from '../io.ts';
import { openForReading, serviceInstead } from '../open-for-reading.ts';
import { type OutputFile, openOutputFile } from '../output-target.ts';
import { type ProgressLine, terminalProgress } from '../progress.ts';
import { systemProblem } from '../system-error.ts';
import { plain, several, sized } from '../units.ts';

export type BackupOptions = { output: string; json: boolean; version: string };

/** What a backup holds, for `--json`. `rows` by table. */
export type BackedUp = { file: string; bytes: number; made_at: string; rows: Record<string, number> };

/**
 * A file appears under its name only when it is whole and has been read back. What is no regular file gets the bytes as stdout does, and
 * `err` says so.
 * @param output `-` is stdout
 */
export async function backUp(
  loaded: LoadedConfig,
  { output, json, version }: BackupOptions,
  io: Pick<Io, 'out' | 'err' | 'cwd'>,
): Promise<void> {
  if (output === '-') {
    if (process.stdout.isTTY) throw toTerminal();
    await writeTo(process.stdout, source(loaded, version, io), () => {});
    return;
  }
  const file = resolve(io.cwd, output);
  const progress = terminalProgress(io.err);
  try {
    const opened = await openOutputFile(file, { isSecret: true });
    const made = await writeWhole(opened, file, source(loaded, version, io), progress);
    progress.clear();
    if (typeof made === 'number')
      io.err(`Wrote ${sized(made)} to ${plain(file)}, from which nothing can be read back\n`);
    else io.out(json ? `${JSON.stringify(made)}\n` : summary(made));
  } catch (error) {
    progress.clear();
    throw reported(error, file);
  }
}

/** Returns the bytes alone where they cannot be read back. */
async function writeWhole(
  opened: OutputFile,
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  progress: ProgressLine,
): Promise<BackedUp | number> {
  const { stream, part, target } = opened;
  try {
    if (opened.isTerminal) throw toTerminal();
    await writeTo(stream, chunks, (bytes) => progress.show(`${sized(bytes)} written`, 0, 0));
    stream.end();
    await finished(stream);
    if (part === null) return stream.bytesWritten;
    const { size } = await stat(part);
    const { head, end } = await checkBackup(part, (bytes) => progress.show('checked', bytes, size));
    await opened.publish();
    await flushFolder(dirname(target)).catch(() => {}); // some file systems refuse it for folders
    return { file, bytes: size, made_at: head.made_at, rows: end.rows };
  } catch (error) {
    await opened.discard();
    throw error;
  }
}

const toTerminal = () => new OperatorError("Cannot write a backup to the terminal: name a file with '-o'", 2);

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
