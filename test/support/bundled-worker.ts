/** The database thread of tests as one file: found, compiled and loaded module by module, it would take each test's process a second more. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '../..');

/** @returns its path, for SVC_TEST_DATABASE_WORKER (databases.ts) */
export async function bundleDatabaseWorker(): Promise<{ path: string; remove(): void }> {
  const caches = join(root, 'node_modules/.cache'); // within reach of the packages that are not bundled
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, 'svc-test-'));
  const path = join(folder, 'database-worker.mjs');
  await build({
    ...{ entryPoints: [join(root, 'test/support/database-worker.ts')], outfile: path, bundle: true, logLevel: 'error' },
    ...{ platform: 'node', format: 'esm', target: 'node20', external: ['@electric-sql/*'] },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
