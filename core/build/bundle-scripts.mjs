/** The scripts of the browser UI: the page's and its worker's, of few files each. The browser takes longer over two dozen small files than
 *  over two that hold more than is needed, since it opens six connections. Plain JavaScript, as main.mjs is. */
import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { cutPackages } from './cut-packages.mjs';

const CLIENT = 'core/web/client';
const PAGE = `${CLIENT}/main.tsx`;
export const WORKER = `${CLIENT}/worker/text-worker.ts`;

/** The parts of the page that are opened most. */
const SESSIONS = `${CLIENT}/pages/sessions/sessions-page.tsx`;
const SESSION = `${CLIENT}/pages/session/session-page.tsx`;
const BELOW_SESSION = `${CLIENT}/pages/session/`;

/** Parts that share a file, since together they compress to less: the lenses of a session beside Talk, and the pages beside the sessions. */
const TOGETHER = {
  lenses: [
    'session/context/context-page.tsx',
    'session/bytes/bytes-page.tsx',
    'session/calls/calls-lens.tsx',
    'session/cache/cache-lens.tsx',
    'session/time/time-lens.tsx',
  ],
  service: [
    ...['find/find-page.tsx', 'spend/spend-page.tsx', 'skills/skills-page.tsx', 'cassettes/cassettes-page.tsx'],
    ...['health/health-page.tsx', 'help/help-page.tsx'],
  ],
};

/**
 * Bundles the page and its worker.
 * @param root the project, with its packages installed
 * @returns `main` and `worker` (null: there is none), the names of their files; `preload`, what `main` imports; `late`, by the source of each
 *   part below `client/` its files, without what the page has already; `files`, the content of each by its name; `sources` and `styles`, the
 *   scripts and the style sheets that are imported anywhere, as paths relative to `root`
 */
export async function bundleScripts(root) {
  const styles = new Set();
  const worker = existsSync(join(root, WORKER)) ? await bundle(root, WORKER, { styles }) : null;
  const workerFile = worker?.chunks.find(({ isEntry }) => isEntry).fileName ?? null;
  const page = await bundle(root, PAGE, {
    styles,
    define: { TEXT_WORKER: JSON.stringify(`./${workerFile}`) },
    groups: [{ name: groupsOf(root), debugName: 'shared' }],
  });
  const main = page.chunks.find(({ isEntry }) => isEntry).fileName;
  const preload = importsOf(page.chunks, main);
  return {
    ...{ main, preload, styles, worker: workerFile },
    late: lateParts(root, page.chunks, [main, ...preload]),
    files: new Map([page, worker].flatMap((part) => part?.chunks ?? []).map(({ fileName, code }) => [fileName, code])),
    sources: [...new Set([page, worker].flatMap((part) => part?.sources ?? []))],
  };
}

async function bundle(root, entry, { styles, define = {}, groups = [] }) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    ...{ cwd: root, input: join(root, entry), platform: 'browser', tsconfig: false, logLevel: 'silent' },
    preserveEntrySignatures: 'allow-extension',
    plugins: [collectStyles(root, styles), cutPackages],
    transform: {
      target: 'es2022',
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { ...define, 'process.env.NODE_ENV': '"production"' },
    },
  });
  try {
    const { output } = await build.generate({
      ...{ format: 'esm', minify: true, comments: false, hashCharacters: 'hex' },
      ...{ entryFileNames: '[name]-[hash].js', chunkFileNames: '[name]-[hash].js' },
      codeSplitting: { groups, includeDependenciesRecursively: false },
    });
    const sources = (await build.watchFiles)
      .map((path) => pathFrom(root, path))
      .filter((path) => !path.endsWith('.css'));
    return { chunks: output.filter(({ type }) => type === 'chunk'), sources };
  } finally {
    await build.close();
  }
}

const pathFrom = (root, path) => relative(root, path).split(sep).join('/');

/** All style sheets become one: none is loaded with a part. */
const collectStyles = (root, styles) => ({
  name: 'collect-styles',
  load: {
    filter: { id: /\.css$/ },
    handler: (path) => {
      styles.add(pathFrom(root, path));
      return { code: '', moduleType: 'js' };
    },
  },
});

/** Names the file of each module that more than one part needs: parts that are opened one after the other share it. */
function groupsOf(root) {
  let partsOf = null;
  return (path, context) => {
    partsOf ??= reachedFrom(join(root, PAGE), (module) => context.getModuleInfo(module));
    const parts = [...(partsOf.get(path) ?? [])].map((part) => pathFrom(root, part));
    const has = (part) => parts.includes(part);
    if (has(PAGE)) return 'kernel';
    const shared = Object.entries(TOGETHER).find(([, own]) =>
      parts.every((part) => own.some((name) => part === `${CLIENT}/pages/${name}`)),
    );
    if (shared && parts.length > 0) return shared[0];
    if (has(SESSION) && !has(SESSIONS)) return 'session'; // in one file with its page, since that is always loaded with it
    if (parts.length < 2) return null; // it is in the file of its part
    if (has(SESSIONS)) return 'kernel';
    return parts.every((part) => part.startsWith(BELOW_SESSION)) ? 'details' : 'kernel';
  };
}

/** By module, the parts that need it: the page itself, and what it loads later. */
function reachedFrom(main, infoOf) {
  const reached = new Map();
  const parts = new Set([main]);
  const follow = (module, part) => {
    const by = reached.get(module) ?? new Set();
    reached.set(module, by);
    if (by.has(part)) return;
    by.add(part);
    const { importedIds, dynamicallyImportedIds } = infoOf(module) ?? { importedIds: [], dynamicallyImportedIds: [] };
    for (const imported of importedIds) follow(imported, part);
    for (const later of dynamicallyImportedIds) parts.add(later); // a set is walked on while it grows
  };
  for (const part of parts) follow(part, part);
  return reached;
}

/** The files without which this one does not begin. */
function importsOf(chunks, entry) {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const found = new Set([entry]);
  for (const name of found) for (const imported of byName.get(name)?.imports ?? []) found.add(imported);
  found.delete(entry);
  return [...found];
}

function lateParts(root, chunks, early) {
  const parts = chunks.flatMap(({ fileName, isDynamicEntry, facadeModuleId, moduleIds }) => {
    if (moduleIds.includes(join(root, SESSION))) return [[SESSION, fileName]];
    return isDynamicEntry && facadeModuleId ? [[pathFrom(root, facadeModuleId), fileName]] : [];
  });
  return Object.fromEntries(
    parts.map(([part, fileName]) => [
      relative(CLIENT, part),
      [fileName, ...importsOf(chunks, fileName)].filter((name) => !early.includes(name)),
    ]),
  );
}
