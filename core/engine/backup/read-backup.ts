/** Reads a backup: checks all of it against its end first, then its rows in batches. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { BackupValue } from '../../db/backup/columns.ts';
import { OperatorError } from '../../errors.ts';
import { isObject, parseJson } from '../../parse-json.ts';
import {
  BACKUP_FORM,
  type BackupEnd,
  type BackupHead,
  type CassetteStart,
  countedName,
  rowValues,
  type TableStart,
} from './format.ts';

export type BackupBatch =
  | { head: BackupHead }
  | CassetteStart
  | (Pick<TableStart, 'table' | 'cassette' | 'columns'> & { rows: BackupValue[][] });

/** Called with the bytes of the file that have been read, now and then. */
type OnRead = (bytes: number) => void;

const BATCH = { rows: 500, characters: 4 * 1024 * 1024 };

/** @throws {OperatorError} it is no backup, of a newer form, cut off, or was altered */
export async function checkBackup(
  path: string,
  onRead: OnRead = () => {},
): Promise<{ head: BackupHead; end: BackupEnd }> {
  let head: BackupHead | null = null;
  for await (const { value } of checkedLines(path, onRead)) {
    if (head === null) head = headIn(path, value);
    if (isObject(value) && value.end === true) return { head, end: value as BackupEnd };
  }
  throw broken(path, 'it is cut off'); // checkedLines has thrown
}

/** As `checkBackup`, with what is in it. The end is checked again, since the file may have changed. */
export async function* readBackup(path: string, onRead: OnRead = () => {}): AsyncGenerator<BackupBatch, void> {
  let table: TableStart | null = null;
  let rows: BackupValue[][] = [];
  let characters = 0;
  const taken = (): BackupBatch[] => {
    const batch = table && rows.length > 0 ? [{ ...table, rows }] : [];
    rows = [];
    characters = 0;
    return batch;
  };
  let first = true;
  for await (const { text, value } of checkedLines(path, onRead)) {
    if (Array.isArray(value)) {
      if (!table) throw broken(path, 'a row belongs to no table');
      rows.push(rowValues(value, table.columns));
      characters += text.length;
      if (rows.length >= BATCH.rows || characters >= BATCH.characters) yield* taken();
      continue;
    }
    yield* taken();
    if (first) yield { head: headIn(path, value) };
    else if (isObject(value) && 'table' in value) table = value as TableStart;
    else if (isObject(value) && 'cassette' in value) yield value as CassetteStart;
    first = false;
  }
}

function headIn(path: string, value: unknown): BackupHead {
  const form = isObject(value) ? value.svc_backup : undefined;
  if (typeof form !== 'number') throw broken(path, NO_BACKUP);
  if (form !== BACKUP_FORM)
    throw broken(path, `it has form ${form}, and this version of svc reads form ${BACKUP_FORM} only`);
  return value as BackupHead;
}

/** Rows are checked by the hash alone. */
async function* checkedLines(path: string, onRead: OnRead): AsyncGenerator<{ text: string; value: unknown }, void> {
  const hash = createHash('sha256');
  const rows: Record<string, number> = {};
  let lines = 0;
  let name = '';
  let ended = false;
  for await (const line of linesIn(path, onRead)) {
    if (ended) throw broken(path, 'something follows its end');
    const text = line.toString('utf8');
    const value = parsed(text);
    if (value === undefined) throw broken(path, lines === 0 ? NO_BACKUP : 'it was altered');
    if (isObject(value) && value.end === true) {
      const found: BackupEnd = { end: true, rows, lines, sha256: hash.digest('hex') };
      const end = value as BackupEnd;
      if (end.sha256 !== found.sha256 || end.lines !== lines || !sameCounts(end.rows, rows))
        throw broken(path, 'it was altered: it is not what its end says');
      ended = true;
    } else {
      lines += 1;
      hash.update(line).update('\n');
      if (Array.isArray(value)) rows[name] = (rows[name] ?? 0) + 1;
      else if (isObject(value) && typeof value.table === 'string') {
        name = countedName(value as TableStart);
        rows[name] ??= 0;
      }
    }
    yield { text, value };
  }
  if (!ended) throw broken(path, lines === 0 ? NO_BACKUP : 'it is cut off');
}

const NO_BACKUP = "it is no backup that 'svc backup' made";

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

const sameCounts = (one: Record<string, number>, other: Record<string, number>): boolean =>
  isObject(one) &&
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, count]) => other[name] === count);

/** Without their line feeds; what follows the last one is no line. */
async function* linesIn(path: string, onRead: OnRead): AsyncGenerator<Buffer, void> {
  const file = createReadStream(path);
  const unpacked = createGunzip();
  pipeline(file, unpacked, () => {}); // an error comes out of the loop below
  let pending: Buffer[] = [];
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      onRead(file.bytesRead);
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        yield Buffer.concat([...pending, chunk.subarray(from, at)]);
        pending = [];
        from = at + 1;
      }
      if (from < chunk.length) pending.push(chunk.subarray(from));
    }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR' || /unexpected end of file/.test(message)) throw broken(path, 'it is cut off');
    if (code === 'Z_DATA_ERROR') throw broken(path, `it was altered, or ${NO_BACKUP}`);
    throw error;
  }
  if (pending.length > 0) throw broken(path, 'it is cut off');
}

const broken = (path: string, why: string) => new OperatorError(`Cannot restore '${path}': ${why}`);
