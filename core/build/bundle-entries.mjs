/** What a start waits for, each in one file beside its entry: some hundred small files take a thread or a process half a second to load.
 *  Nothing is done where no source has changed. Plain JavaScript, as main.mjs is. */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Entries of threads and processes that load nothing at run time but these packages and what is in the bundle. */
const ENTRIES = [
  'core/cli/serve/proxy-process.js',
  'core/db/client/embedded-worker.js',
  'core/engine/engine-worker.js',
];
const bundleOf = (entry) => entry.replace(/\.js$/, '.bundle.js'); // core/start-worker.ts finds it by this name
const sourcesOf = (entry) => `${bundleOf(entry)}on`;
/** The paths in `dist` of what is made here. */
export const BUNDLES = ENTRIES.flatMap((entry) => [bundleOf(entry), sourcesOf(entry)]);

/**
 * Brings the bundles up to date with the compiled files.
 * @param dist the compiled project, with its packages in reach
 */
export async function bundleEntries(dist) {
  for (const entry of ENTRIES) if (!isCurrent(dist, entry)) await bundleEntry(dist, entry);
}

async function bundleEntry(dist, entry) {
  const { build } = await import('esbuild');
  const outfile = bundleOf(entry);
  const { metafile, outputFiles } = await build({
    ...{ absWorkingDir: dist, entryPoints: [entry], outfile, write: false, metafile: true, logLevel: 'silent' },
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', charset: 'utf8', keepNames: true },
    ...{ minifyWhitespace: true, minifySyntax: true }, // half as much to parse
    external: ['@electric-sql/*'], // these find files of their own beside them
    plugins: [ownUrls(dist, outfile)],
    // Packages in the older format ask for Node's modules by `require`.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
    },
  });
  const inputs = Object.keys(metafile.inputs).filter((path) => existsSync(join(dist, path)));
  replace(join(dist, outfile), outputFiles[0].contents);
  replace(
    join(dist, sourcesOf(entry)),
    JSON.stringify(Object.fromEntries(inputs.map((path) => [path, stamp(join(dist, path))]))),
  );
}

/** Files that are found from a module of ours are found from where that module was, and not from the bundle's folder. */
const ownUrls = (dist, outfile) => ({
  name: 'own-urls',
  setup(build) {
    build.onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const from = JSON.stringify(relative(dirname(join(dist, outfile)), path).replaceAll('\\', '/'));
      return { contents: text.replaceAll('import.meta.url', `new URL(${from}, import.meta.url).href`), loader: 'js' };
    });
  },
});

function isCurrent(dist, entry) {
  if ([bundleOf(entry), sourcesOf(entry)].some((path) => !existsSync(join(dist, path)))) return false;
  const sources = JSON.parse(readFileSync(join(dist, sourcesOf(entry)), 'utf8'));
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
