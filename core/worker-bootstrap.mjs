/** Runs a worker thread's TypeScript from source: as a run of all tests has bundled it (test/support/bundled-tests.ts), else through tsx, which takes
 *  a second and a half of the processor's time to load. The entry is named by the first argument. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const entry = process.argv[2];
// biome-ignore lint/style/noProcessEnv: no part of the product, which has no TypeScript to run
const { SVC_TEST_BUNDLES: bundles } = process.env;
const bundle =
  bundles && join(bundles, relative(join(import.meta.dirname, '..'), fileURLToPath(entry))).replace(/\.ts$/, '.mjs');
if (bundle && existsSync(bundle)) await import(bundle);
else {
  const { register } = await import('tsx/esm/api');
  register();
  await import(entry);
}
