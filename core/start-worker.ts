/** Starts worker threads, from source under tsx as well as from the built package. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ResourceLimits, type TransferListItem, Worker } from 'node:worker_threads';
import { builtEntry } from './built-entry.ts';
import { packageRoot } from './package-root.ts';

/**
 * Starts the thread whose entry is `core/<name>.ts`. From source it goes through the bootstrap file, since a worker does not
 * inherit tsx; built, the entry is plain JavaScript and tsx need not be installed.
 */
export function startWorker(
  name: string,
  workerData: unknown,
  transfer: readonly TransferListItem[] = [],
  resourceLimits: ResourceLimits = {},
): Worker {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = fromSource ? new URL(`./${name}.ts`, import.meta.url) : builtEntry(new URL(name, import.meta.url));
  const start = fromSource ? pathToFileURL(join(packageRoot(), 'core/worker-bootstrap.mjs')) : entry;
  const transferList = [...transfer];
  return new Worker(start, { name, workerData, argv: [entry.href], execArgv: [], transferList, resourceLimits });
}
