/**
 * Which PostgreSQL has made the embedded database: another major version cannot read its files, and would fail at them without a word that
 * helps. Beside the folder stands which svc has used it last, since that one can still write a backup.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { packageRoot } from '../../package-root.ts';
import { dataFolder } from './data-folder.ts';

/** The major version of the PostgreSQL in this build. (A test compares it with a new database.) */
export const POSTGRES = 18;

const usedBy = (folder: string) => join(folder, 'data.used-by');

/** @throws {OperatorError} the database is of another major version, with what has to be done */
export function refuseOtherPostgres(folder: string): void {
  const { data } = dataFolder(folder);
  const found = read(join(data, 'PG_VERSION'));
  if (!/^\d+$/.test(found) || Number(found) === POSTGRES) return; // none yet, or what is wrong shows when it is opened
  const last = /^\d[\w.+-]{0,40}$/.exec(read(usedBy(folder)))?.[0];
  const former = last === undefined ? 'the svc that used it last' : `svc ${last}, which used it last`;
  const why = `Cannot open the embedded database in '${data}': it is of PostgreSQL ${found}, and this svc has PostgreSQL ${POSTGRES}`;
  if (Number(found) > POSTGRES) throw new OperatorError(`${why}; use ${former}, or a later one`);
  throw new OperatorError(
    `${why}; with ${former}, run 'svc backup -o svc.backup'; move '${data}' away; then run 'svc restore svc.backup' with this svc`,
  );
}

/** Notes that this svc has used the database. */
export function noteUse(folder: string): void {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  if (read(usedBy(folder)) === version) return;
  try {
    writeFileSync(usedBy(folder), `${version}\n`, { mode: 0o600 });
  } catch {} // the disk is full or read-only, which shows elsewhere
}

const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8').trim() : '');
