/** The sessions that `svc sessions` or `svc find` listed last, so that a number names one. In the home folder, for each service its own. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, parseJson } from '../../parse-json.ts';

export type ListPlace = {
  home: string;
  /** Of the service. */
  address: string;
};

const MOST = 1000;

const fileIn = (home: string) => join(home, '.svc', 'last-list.json');

/** The ids in their order; none where nothing was listed. */
export function lastList({ home, address }: ListPlace): readonly string[] {
  try {
    const list = parseJson(readFileSync(fileIn(home), 'utf8'));
    if (!isObject(list) || list.address !== address || !Array.isArray(list.sessions)) return [];
    return list.sessions.filter((id) => typeof id === 'string');
  } catch {
    return [];
  }
}

/** A list of none leaves the one before. Without a home folder, or where it cannot be written, numbers name nothing. */
export function keepList({ home, address }: ListPlace, sessions: readonly string[]): void {
  if (home === '' || sessions.length === 0) return;
  try {
    const path = fileIn(home);
    mkdirSync(join(home, '.svc'), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.new`, `${JSON.stringify({ address, sessions: sessions.slice(0, MOST) })}\n`, {
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
  } catch {}
}
