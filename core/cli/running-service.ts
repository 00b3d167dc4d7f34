/** Where does the service of a folder listen? A file in its `.svc` says it to the commands beside it. */
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holderOf } from '../db/client/folder-lock.ts';
import type { Service } from '../model/status.ts';
import type { Listeners } from './listening.ts';

const fileIn = (folder: string) => join(folder, 'service.json');

/** Addresses as `http://127.0.0.1:8080`; null: that one does not run. */
export type ServiceAddresses = { proxy: string | null; api: string | null; ingest: string | null };

/** Says where the process that has the folder listens. @returns what takes it back */
export async function publishAddresses(
  folder: string,
  { proxy, api, ingest }: Pick<Listeners, 'proxy' | 'api' | 'ingest'>,
): Promise<() => Promise<void>> {
  const first = (addresses: readonly string[]) => addresses[0] ?? null;
  const said = { pid: process.pid, proxy: first(proxy), api: first(api), ingest: first(ingest) };
  await writeFile(fileIn(folder), `${JSON.stringify(said)}\n`, { mode: 0o600 });
  return () => rm(fileIn(folder), { force: true });
}

/** Null: no living process of this machine has the folder and said where it listens. */
export function publishedAddresses(folder: string): ServiceAddresses | null {
  try {
    const { pid, proxy, api, ingest } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as Record<string, unknown>;
    const address = (said: unknown) => (typeof said === 'string' && URL.canParse(said) ? said : null);
    if (pid !== holderOf(folder)) return null; // it was killed, or runs in a container
    return { proxy: address(proxy), api: address(api), ingest: address(ingest) };
  } catch {
    return null;
  }
}

/** Whether that process runs here, and not on another machine or in a container. */
export const runsHere = ({ folder, pid }: Service): boolean => holderOf(folder) === pid;
