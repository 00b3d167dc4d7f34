/** Starts worker threads, from source under tsx as well as from the built package. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ResourceLimits, type TransferListItem, Worker } from 'node:worker_threads';
import { packageRoot } from './package-root.ts';

/** The compiled file of an entry without its extension: as one file with all that it imports, where the build made that, which loads sooner. */
export function builtEntry(entry: URL): URL {
  const bundle = new URL(`${entry.href}.bundle.js`);
  return existsSync(bundle) ? bundle : new URL(`${entry.href}.js`);
}

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
