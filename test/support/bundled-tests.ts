/** The test files of a run, and the threads that they start, each with all of ours that it imports in one file: through tsx, module by module, they
 *  take a second or two to load. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { PACKAGES_WITH_FILES } from '../../core/build/bundle-entries.mjs';

const root = resolve(import.meta.dirname, '../..');

/** These import sources of ours whose paths are known only then: tsx has to load them, and each once. */
const IMPORT_LATER = ['core/cassette/isolation/inline.ts', 'test/meta/examples.test.ts'];

/** What threads run. (core/worker-bootstrap.mjs) */
const THREADS = [
  'core/cassette/database/parser-worker.ts',
  'core/cassette/openapi/aggregate-worker.ts',
  'core/cassette/openapi/document-worker.ts',
  'core/db/client/embedded-worker.ts',
  'core/engine/engine-worker.ts',
  'core/publish/broker-worker.ts',
  'cassettes/search/local-thread.ts',
  'test/support/asking-worker.ts',
  'test/support/database-worker.ts',
];

export type Bundles = {
  /** For SVC_TEST_BUNDLES: a file is there as it is below the project's root, with the ending `.mjs`. */
  folder: string;
  /** The bundle of a test file; null: it is for tsx. */
  of(file: string): string | null;
  remove(): void;
};

/** @param files from the project's root */
export async function bundleTests(files: readonly string[]): Promise<Bundles> {
  const caches = join(root, 'node_modules/.cache'); // within reach of the packages
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, 'svc-tests-'));
  const options: BuildOptions = {
    ...{ absWorkingDir: root, outdir: folder, outbase: root, outExtension: { '.js': '.mjs' }, bundle: true },
    ...{
      platform: 'node',
      format: 'esm',
      target: 'node20',
      keepNames: true,
      jsx: 'automatic',
      jsxImportSource: 'preact',
    },
    ...{ sourcemap: 'linked', sourcesContent: false, logLevel: 'error', plugins: [ownPlaces] },
  };
  const [{ metafile }] = await Promise.all([
    build({ ...options, entryPoints: [...files], packages: 'external', metafile: true }).catch((error: Error) => {
      console.log(`Cannot bundle the tests, so that all take longer: ${error.message}`);
      return { metafile: { outputs: {} } satisfies Pick<Metafile, 'outputs'> };
    }),
    build({ ...options, entryPoints: THREADS, external: PACKAGES_WITH_FILES, banner: { js: REQUIRE } }),
  ]);
  const bundles = new Map(
    Object.entries(metafile.outputs).flatMap(([path, { entryPoint = '', inputs }]): [string, string][] =>
      IMPORT_LATER.some((file) => file in inputs) ? [] : [[entryPoint, join(root, path)]],
    ),
  );
  return {
    folder,
    of: (file) => bundles.get(file) ?? null,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Packages in the older format ask for Node's modules by `require`. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);";

/** What a module finds from its own place it still finds there: only its code has moved. */
const ownPlaces: Plugin = {
  name: 'own-places',
  setup({ onResolve, onLoad }) {
    // Plain JavaScript of ours needs no compiling; threads and processes load it from its place too.
    onResolve({ filter: /^\..*\.mjs$/ }, ({ path, importer, resolveDir }) =>
      isOurs(importer) ? { path: pathToFileURL(join(resolveDir, path)).href, external: true } : undefined,
    );
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!isOurs(path) || !text.includes('import.meta.')) return undefined;
      const places = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path };
      const contents = text.replace(/\bimport\.meta\.(url|dirname|filename)\b/g, (_, place: keyof typeof places) =>
        JSON.stringify(places[place]),
      );
      return { contents, loader: 'ts' };
    });
  },
};

const isOurs = (path: string): boolean =>
  !relative(root, path).startsWith('node_modules') && !path.includes('/node_modules/');
