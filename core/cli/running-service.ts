/** The addresses of the service of a folder, in a file in its `.svc`, for the commands beside it. */
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holderOf } from '../db/client/folder-lock.ts';
import type { Service } from '../model/status.ts';
import type { Listeners } from './listening.ts';

const fileIn = (folder: string) => join(folder, 'service.json');

/** Addresses as `http://127.0.0.1:8080`; null: that one does not run. */
export type ServiceAddresses = { proxy: string | null; api: string | null; ingest: string | null };

/** Publishes the addresses of the process that has the folder. @returns a function that withdraws them */
export async function publishAddresses(
  folder: string,
  { proxy, api, ingest }: Pick<Listeners, 'proxy' | 'api' | 'ingest'>,
): Promise<() => Promise<void>> {
  const first = (addresses: readonly string[]) => addresses[0] ?? null;
  const published = { pid: process.pid, proxy: first(proxy), api: first(api), ingest: first(ingest) };
  await writeFile(fileIn(folder), `${JSON.stringify(published)}\n`, { mode: 0o600 });
  return () => rm(fileIn(folder), { force: true });
}

/** Null: no living process of this machine has the folder and has published its addresses. */
export function publishedAddresses(folder: string): ServiceAddresses | null {
  try {
    const { pid, proxy, api, ingest } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as Record<string, unknown>;
    const address = (value: unknown) => (typeof value === 'string' && URL.canParse(value) ? value : null);
    if (pid !== holderOf(folder)) return null; // that process was killed, or runs in a container
    return { proxy: address(proxy), api: address(api), ingest: address(ingest) };
  } catch {
    return null;
  }
}

/** Whether that process runs on this machine, and not in a container. */
export const runsHere = ({ folder, pid }: Service): boolean => holderOf(folder) === pid;
