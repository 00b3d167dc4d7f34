/** What the service of a folder publishes for the commands beside it, in a file in its `.svc`: its addresses and processes. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { holderOf } from '../db/client/folder-lock.ts';
import type { ProcessState, Service } from '../model/status.ts';
import { isObject } from '../parse-json.ts';

const fileIn = (folder: string) => join(folder, 'service.json');

/** Addresses as `http://127.0.0.1:8080`; null: that one does not run. */
export type ServiceAddresses = { proxy: string | null; api: string | null; ingest: string | null };

export type PublishedService = {
  /** Of the process that stops all of it. */
  pid: number;
  addresses: ServiceAddresses;
  processes: ProcessState[];
  /** 'svc start' has started it: it ends after the last harness. */
  shared: boolean;
  /** Where its turns lie, without credentials; null: an older one does not publish it. */
  data: string | null;
};

type Bound = Record<'proxy' | 'api' | 'ingest', readonly string[]>;

export type ServicePublication = { update(processes: ProcessState[]): void; withdraw(): void };

/** Publishes the addresses of this process's service and where its data lie, and from then on the state of its processes. */
export function publishService(
  folder: string,
  { proxy, api, ingest }: Bound,
  { data, shared = false }: { data: string; shared?: boolean },
): ServicePublication {
  const first = (addresses: readonly string[]) => addresses[0] ?? null;
  const addresses: ServiceAddresses = { proxy: first(proxy), api: first(api), ingest: first(ingest) };
  const update = (processes: ProcessState[]) => {
    try {
      const published = { pid: process.pid, ...addresses, data, processes, ...(shared && { shared }) };
      const path = fileIn(folder);
      writeFileSync(`${path}.new`, `${JSON.stringify(published)}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path); // a reader sees all of it
    } catch {} // the disk is full: commands then look at the configured addresses
  };
  update([]);
  return { update, withdraw: () => rmSync(fileIn(folder), { force: true }) };
}

/** Null: no living process of this machine has the folder and has published its addresses. */
export function publishedService(folder: string): PublishedService | null {
  try {
    const { pid, processes, shared, data, ...at } = JSON.parse(readFileSync(fileIn(folder), 'utf8')) as Record<
      string,
      unknown
    >;
    if (typeof pid !== 'number' || pid !== holderOf(folder)) return null; // that process was killed, or runs in a container
    const address = (value: unknown) => (typeof value === 'string' && URL.canParse(value) ? value : null);
    return {
      pid,
      shared: shared === true,
      data: typeof data === 'string' ? data : null,
      addresses: { proxy: address(at.proxy), api: address(at.api), ingest: address(at.ingest) },
      processes: Array.isArray(processes) ? (processes.filter(isObject) as ProcessState[]) : [],
    };
  } catch {
    return null;
  }
}

/** Whether that process runs on this machine, and not in a container. */
export const runsHere = ({ folder, pid }: Service): boolean => holderOf(folder) === pid;
