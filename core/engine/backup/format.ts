/**
 * The form of a backup: lines of JSON, compressed by gzip. The first line is the head, the last the end with counts and a hash over all
 * before it. In between, a line `{"table": …}` begins each table, and its rows follow, an array each: texts as PostgreSQL writes them,
 * bytea in base64, null. A line `{"cassette": …}` says how the tables of a cassette are made, which follow it.
 */
import type { CassetteSchema } from '../../db/backup/cassette-schemas.ts';
import { type BackupColumn, type BackupValue, isBytes } from '../../db/backup/columns.ts';
import type { BackupOpened } from '../../db/backup/open-backup.ts';

/** Of the form. Another number is refused; members may be added without one. */
export const BACKUP_FORM = 1;

export type BackupHead = Pick<BackupOpened, 'made_at' | 'kind' | 'migrations' | 'installation' | 'sequences'> & {
  svc_backup: number;
  /** Of svc. */
  version: string;
  purges: number;
};

/** `cassette`: whose table it is; null: the service's own. */
export type TableStart = { table: string; cassette: string | null; columns: BackupColumn[] };
export type CassetteStart = { cassette: CassetteSchema };
/** `rows` by table, as `svc.raw_turns` and `cassette_search.span_embeddings`; `lines` and `sha256` of all lines before. */
export type BackupEnd = { end: true; rows: Record<string, number>; lines: number; sha256: string };

export const rowText = (row: readonly BackupValue[]): string =>
  JSON.stringify(row.map((value) => (value instanceof Uint8Array ? base64(value) : value)));

export function rowValues(line: readonly unknown[], columns: readonly BackupColumn[]): BackupValue[] {
  return columns.map((column, i) => {
    const value = line[i];
    if (typeof value !== 'string') return null;
    return isBytes(column) ? new Uint8Array(Buffer.from(value, 'base64')) : value;
  });
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** The name under which rows are counted. */
export const countedName = ({ table, cassette }: Pick<TableStart, 'table' | 'cassette'>): string =>
  cassette === null ? table : `cassette_${cassette.replaceAll('-', '_')}.${table}`;
