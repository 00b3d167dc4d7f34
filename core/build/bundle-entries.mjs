/** What a start waits for, in few files: some hundred small ones take a thread or a process half a second to find and load.
 *  Nothing is done where no source has changed. Plain JavaScript, as main.mjs is. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder below `dist` for all of it. */
export const BUNDLES = 'bundle';

/** The code of the commands that are called often and waited for, in one file with the program: what it is loaded from is half of their time. */
const QUICK = /^core\/cli\/((status|open|hidden-input)|(settings|statusline|record)\/.*)\.js$/;

/** What starts a process or a cassette beside a command. The commands that open a database or check cassettes take longer anyhow. */
const STARTING = ['serve/serve', 'login', 'start/start', 'start/shared-service', 'cassette/list', 'cassette/target'];

/**
 * Each group is loaded into one process or thread, and what its entries share exists once there: a class of two copies would be two classes.
 * `split`: what is imported later is in files of its own; else all of it is in one, whose modules run in the order of their imports, which
 * they do not across files. `whole`: those of the files that are imported later which are in the bundle: a reading command takes half as
 * long as with a copy of its own of all that it imports. `ownMini`: what imports zod/mini has a copy of what it needs of zod, though other
 * files of the group load all of zod. `format`: CommonJS, which loads sooner, since Node needs no second loader for it. `kept`: runs from
 * what was compiled of it before. (core/cli/run-compiled.ts)
 */
const GROUPS = {
  program: { entries: ['core/cli/main'], whole: /^$/, format: 'cjs', target: 'node12.20' },
  command: { entries: ['core/cli/commands'], whole: QUICK, ownMini: true, format: 'cjs', kept: true },
  starting: {
    entries: STARTING.map((file) => `core/cli/${file}`),
    split: true,
    whole: /^core\/cli\/start\//,
    ownMini: true,
  },
  proxy: { entries: ['core/cli/serve/proxy-process'] },
  service: { entries: ['core/cli/serve/service-process', 'cassettes/export/cassette'], split: true },
  engine: { entries: ['core/engine/engine-worker'] },
  database: { entries: ['core/db/client/embedded-worker'] },
  statusline: { entries: ['core/cli/statusline/main'], format: 'cjs' },
};

/** These find files of their own beside them. */
export const PACKAGES_WITH_FILES = [
  '@electric-sql/*',
  '@lat.md/*',
  '@seriousme/*',
  '@xenova/*',
  'libpg-query',
  'onnxruntime-*',
  'swagger-ui-dist',
];

/** What is written below decides as well what is made. */
const RECIPE = stamp(fileURLToPath(import.meta.url));

/** The file of an entry, as core/built-entry.ts finds it. */
const nameOf = (entry) => entry.replaceAll('/', '.');

/**
 * Brings the bundles up to date with the compiled files.
 * @param dist the compiled project, with its packages in reach
 */
export async function bundleEntries(dist) {
  mkdirSync(join(dist, BUNDLES), { recursive: true });
  const records = [];
  for (const group of Object.keys(GROUPS)) records.push(await upToDate(dist, group));
  const used = new Set(records.flatMap(({ files, before }) => [...files, ...before]));
  const recorded = new Set(Object.keys(GROUPS).map(recordOf));
  const caches = [...used].filter((name) => name.endsWith('.cjs')).map((name) => cachesOf(join(dist, BUNDLES), name));
  const isCache = (name) => name.endsWith('.cache') && caches.some((start) => name.startsWith(start));
  const isCurrent = (name) => used.has(name) || recorded.has(name) || isCache(name);
  for (const name of readdirSync(join(dist, BUNDLES)))
    if (!isCurrent(name)) rmSync(join(dist, BUNDLES, name), { recursive: true });
}

/** How the names begin of what was compiled of a file, as it is now. (core/cli/run-compiled.ts) */
function cachesOf(folder, name) {
  const { mtimeMs, size } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
  return `${name}.${Math.trunc(mtimeMs)}-${size}.`;
}

/** Of a file beside the bundles or a module of Node's: no other is imported later. */
const IMPORT = /\bimport\((?="(?:\.\.?\/|node:))/g;

const recordOf = (group) => `${group}.json`;

/** `files` are those of this build, `before` those of the one before it, which a running service may still load. */
async function upToDate(dist, group) {
  const path = join(dist, BUNDLES, recordOf(group));
  const last = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { sources: {}, files: [], before: [] };
  const sources = Object.entries(last.sources);
  const isCurrent = last.recipe === RECIPE && sources.every(([file, was]) => stamp(join(dist, file)) === was);
  if (isCurrent && last.files.every((name) => existsSync(join(dist, BUNDLES, name)))) return last;
  const { metafile, outputFiles } = await bundled(dist, group);
  const files = outputFiles.map(({ path: file, contents, text }) => {
    replace(file, GROUPS[group].kept ? Buffer.from(text.replace(IMPORT, 'importLater(')) : contents);
    return relative(join(dist, BUNDLES), file);
  });
  const inputs = Object.keys(metafile.inputs).filter((file) => existsSync(join(dist, file)));
  const stamps = Object.fromEntries(inputs.map((file) => [file, stamp(join(dist, file))]));
  const record = { recipe: RECIPE, sources: stamps, files, before: last.files };
  replace(path, JSON.stringify(record));
  return record;
}

async function bundled(dist, group) {
  const { build } = await import('esbuild');
  const { format = 'esm', target = 'node20' } = GROUPS[group];
  const charset = format === 'cjs' ? 'ascii' : 'utf8'; // V8 reads a text sooner that has one byte a character
  return build({
    ...{ absWorkingDir: dist, outdir: BUNDLES, write: false, metafile: true, logLevel: 'silent' },
    entryPoints: GROUPS[group].entries.map((entry) => ({ in: `${entry}.js`, out: nameOf(entry) })),
    ...{ bundle: true, splitting: GROUPS[group].split ?? false, chunkNames: `${group}-[hash]` },
    ...(format === 'cjs' && { outExtension: { '.js': '.cjs' } }),
    ...{ format, platform: 'node', target, charset, keepNames: true },
    ...{ minifyWhitespace: true, minifySyntax: true }, // half as much to parse
    external: PACKAGES_WITH_FILES,
    define: { BUNDLE: JSON.stringify(group) }, // core/built-entry.ts
    plugins: [
      ownUrls(dist, format),
      ...(GROUPS[group].ownMini ? [ownMini] : []),
      oneLanguage,
      later(dist, GROUPS[group]),
    ],
    // Packages in the older format ask for Node's modules by `require`.
    ...(format === 'esm' && { banner: { js: REQUIRE } }),
  });
}

const REQUIRE =
  "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);";

/** Files that are found from a module of ours are found from where that module was, and not from the bundles' folder. */
const ownUrls = (dist, format) => ({
  name: 'own-urls',
  setup(build) {
    build.onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const from = JSON.stringify(relative(join(dist, BUNDLES), path).replaceAll('\\', '/'));
      const bundle = format === 'cjs' ? "require('url').pathToFileURL(__filename)" : 'import.meta.url';
      return { contents: text.replaceAll('import.meta.url', `new URL(${from}, ${bundle}).href`), loader: 'js' };
    });
  },
});

/** Leaves most of what is imported later where it is: as it was compiled, or in the bundle of the entry that it is. */
const later = (dist, { whole, entries }) => ({
  name: 'later',
  setup(build) {
    const bundled = new Set(GROUPS.starting.entries.filter((entry) => !entries.includes(entry)));
    build.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      if (kind !== 'dynamic-import' || whole === undefined) return undefined;
      const found = relative(dist, join(resolveDir, path)).replaceAll('\\', '/');
      if (whole.test(found)) return undefined;
      const entry = found.replace(/\.js$/, '');
      return { path: bundled.has(entry) ? `./${nameOf(entry)}.js` : `../${found}`, external: true };
    });
  },
});

/**
 * A module that several files import is in the bundle once, with all that any of them needs: what imports zod/mini would load ten times as
 * much as it uses, for the sake of others.
 */
const ownMini = {
  name: 'own-mini',
  setup(build) {
    const namespace = 'zod-mini';
    const resolved = async (path, { resolveDir, kind }) => {
      const found = await build.resolve(path, { resolveDir, kind, pluginData: namespace });
      return { path: found.path, namespace, sideEffects: false };
    };
    build.onResolve({ filter: /^zod\/mini$/ }, ({ path, pluginData, ...from }) =>
      pluginData === namespace ? undefined : resolved(path, from),
    );
    build.onResolve({ filter: /^\./, namespace }, ({ path, pluginData, ...from }) =>
      pluginData === namespace ? undefined : resolved(path, from),
    );
    build.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: readFileSync(path, 'utf8'),
      loader: 'js',
      resolveDir: dirname(path),
    }));
  },
};

/** Of zod's messages in fifty languages, those that it speaks by default: the others are a third of what the proxy would load. */
const oneLanguage = {
  name: 'one-language',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

function stamp(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs} ${found.size}` : null;
}

/** What `bin` of package.json names is called by its path. */
const isProgram = (contents) => Buffer.from(contents).subarray(0, 2).toString() === '#!';

/** In one step, since a service may be starting. */
function replace(path, contents) {
  const passing = `${path}.${process.pid}`;
  writeFileSync(passing, contents, { mode: isProgram(contents) ? 0o777 : 0o666 });
  renameSync(passing, path);
}
