/** The database thread in one file: PGlite starts only once its thread has loaded, and four hundred small files take half a second.
 *  Nothing is done when no source has changed. Plain JavaScript, as main.mjs is. */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ENTRY = 'core/db/client/embedded-worker.js';
const BUNDLE = 'core/db/client/embedded-bundle.js'; // in the same folder, since files are found from there
const SOURCES = `${BUNDLE}on`;
/** What these files are, by path in `dist`. */
export const THREAD_BUNDLE = [BUNDLE, SOURCES];

/**
 * Brings the bundle up to date with the compiled files.
 * @param dist the compiled project, with its packages in reach
 */
export async function bundleThread(dist) {
  if (isCurrent(dist)) return;
  const { build } = await import('esbuild');
  const { metafile, outputFiles } = await build({
    ...{ absWorkingDir: dist, entryPoints: [ENTRY], outfile: BUNDLE, write: false, metafile: true, logLevel: 'silent' },
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', charset: 'utf8' },
    external: ['@electric-sql/*'], // these find files of their own beside them
  });
  const inputs = Object.keys(metafile.inputs);
  replace(join(dist, BUNDLE), outputFiles[0].contents);
  replace(
    join(dist, SOURCES),
    JSON.stringify(Object.fromEntries(inputs.map((path) => [path, stamp(join(dist, path))]))),
  );
}

function isCurrent(dist) {
  if (THREAD_BUNDLE.some((path) => !existsSync(join(dist, path)))) return false;
  const sources = JSON.parse(readFileSync(join(dist, SOURCES), 'utf8'));
  return Object.entries(sources).every(([path, was]) => stamp(join(dist, path)) === was);
}

function stamp(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs} ${found.size}` : null;
}

/** In one step, since a service may be starting. */
function replace(path, contents) {
  const passing = `${path}.${process.pid}`;
  writeFileSync(passing, contents);
  renameSync(passing, path);
}
