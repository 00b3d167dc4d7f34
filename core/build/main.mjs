/** Builds `dist` from the sources: only what changed is compiled, and a file whose source is gone is removed. Types are checked by
 *  `npm run check`. Plain JavaScript, and for any Node: nothing is compiled yet when this runs, and nothing has checked Node's version. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleClient } from './bundle.mjs';
import { BUNDLES, bundleEntries } from './bundle-entries.mjs';

const ROOMS = ['core', 'proxy', 'ingest', 'cassettes'];
const ASSETS = join('core', 'web', 'assets'); // bundled, not compiled
const TEMPLATE = join('core', 'db', 'template'); // of the embedded database, made
const CLIENT = join('core', 'web', 'client');
const SCAFFOLD = join('core', 'cassette', 'scaffold');
const QUIET_MS = 1_000; // a quicker build prints nothing
const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');
const memory = join(dist, 'tsconfig.tsbuildinfo'); // the compiler's record of which source has which output

const tsc = compiler();
const began = Date.now();
let announced = false;
const timer = setTimeout(() => {
  announced = true;
  process.stderr.write('Compiling svc: all of it the first time, and then what changed …\n');
}, QUIET_MS);

removeStale();
const child = spawn(process.execPath, [tsc, '-b', join(root, 'core/build')], { stdio: 'inherit' });
child.once('close', async (code) => {
  process.exitCode = code === 0 ? (await bundled()) || (await prepared()) : (code ?? 1);
  clearTimeout(timer);
  if (process.exitCode === 0 && announced)
    process.stderr.write(`Compiled in ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
});

/** The browser UI; 1 when its sources cannot be bundled. */
async function bundled() {
  try {
    await bundleClient({ root, assets: join(dist, ASSETS) });
    return 0;
  } catch (error) {
    process.stderr.write(`Cannot bundle the browser UI: ${error.message}\n`);
    return 1;
  }
}

/** What makes a start quick: processes and threads in few files, and a migrated database; 1 when they cannot be made. */
async function prepared() {
  try {
    await bundleEntries(dist);
    const { ensureTemplate } = await import(pathToFileURL(join(dist, 'core/build/make-template.js')).href);
    await ensureTemplate(join(dist, TEMPLATE));
    return 0;
  } catch (error) {
    process.stderr.write(`Cannot prepare a quick start: ${error.message}\n`);
    return 1;
  }
}

function compiler() {
  try {
    return join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
  } catch {
    process.stderr.write("Cannot compile svc: its packages are not here; run 'npm ci' first\n");
    process.exit(1);
  }
}

/** Removes outputs without a source; and where outputs are missing, the compiler's record, which would count them as done. */
function removeStale() {
  if (!existsSync(dist)) return;
  for (const name of readdirSync(dist))
    if (![...ROOMS, BUNDLES].includes(name) && join(dist, name) !== memory)
      rmSync(join(dist, name), { recursive: true });
  const sources = new Set(ROOMS.flatMap((room) => filesIn(root, room, /\.(?:ts|mjs)$/).map(outputOf)));
  const outputs = ROOMS.flatMap((room) => filesIn(dist, room, /(?:)/)).filter(
    (path) => !path.startsWith(ASSETS + sep) && !path.startsWith(TEMPLATE + sep),
  );
  for (const path of outputs) if (!sources.has(path.replace(/\.map$/, ''))) rmSync(join(dist, path));
  const existing = new Set(outputs);
  if ([...sources].some((path) => !existing.has(path))) rmSync(memory, { force: true });
}

function outputOf(path) {
  return path.replace(/\.ts$/, '.js');
}

/** All paths below a folder, relative to `base`; without the template of `svc cassette new`, which is no part of svc, and the client. */
function filesIn(base, folder, ending) {
  if (!existsSync(join(base, folder)) || SCAFFOLD === folder || (base === root && CLIENT === folder)) return [];
  return readdirSync(join(base, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(base, path, ending);
    return ending.test(path) ? [path] : [];
  });
}
