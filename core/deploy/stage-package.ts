/**
 * The contents of svc's tarball: what runs, and every package that it needs, as they were tested. npm applies the `overrides` and the lock
 * of the folder that it installs for and of no other, so whoever installs a tarball would get other packages, and what those fetch.
 * `files` of package.json lists svc's own files for npm, which cannot bundle those packages: a test compares it with what is laid out.
 */
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BUNDLES } from '../build/bundle-entries.mjs';
import { addLicences, type PackageManifest } from './third-parties.ts';

const ROOMS = ['core', 'proxy', 'ingest', 'cassettes'];
const WHOLE = [
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'cassette.manifest.json', 'migrations'],
  ...['core/cassette/scaffold', 'core/cassette/contract.ts'], // copied by `svc cassette new`
];
/** Not part of the package: compilers, what starts workers from source, and what the bundle of the web UI is made of. */
const NOT_RUN = [
  ...['core/build', 'core/deploy', 'core/cassette/scaffold', 'core/worker-bootstrap.mjs'],
  ...['core/web/client', 'core/web/icon.svg'], // in the bundle
];

/** Packages of which svc loads nothing, and which fetch or report something at installation: each with the package that depends on it. */
const LEFT_OUT: Readonly<Record<string, string>> = { sharp: '@xenova/transformers', '@scarf/scarf': 'swagger-ui-dist' };

type Locked = { dev?: boolean; devOptional?: boolean };

/**
 * Lays the package out in the folder `to`, which it makes.
 * @param root the project, with its packages installed @param dist the compiled project
 */
export async function stagePackage({ root, dist, to }: { root: string; dist: string; to: string }): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const path of WHOLE) await cp(join(root, path), join(to, path), { recursive: true });
  for (const room of ROOMS) {
    await copyRun(dist, room, join(to, 'dist'), () => true);
    await copyRun(root, room, to, (path) => !/\.(?:ts|mjs)$/.test(path));
  }
  await copyRun(dist, BUNDLES, join(to, 'dist'), (path) => /\.c?js$/.test(path));
  const packages = await packagesOf(root);
  for (const path of packages.keys())
    await cp(join(root, path), join(to, path), {
      recursive: true,
      filter: (source) => isNeeded(path, relative(join(root, path), source)),
    });
  for (const [name, dependent] of Object.entries(LEFT_OUT))
    await writeStandIn(to, name, packages.get(pathOf(dependent)));
  await writeFile(join(to, 'THIRD-PARTY.md'), await addLicences(to, packages));
  await writeFile(join(to, 'package.json'), JSON.stringify(await manifestOf(root, packages), null, 2));
}

const pathOf = (name: string) => `node_modules/${name}`;

const copyRun = (from: string, room: string, to: string, isWanted: (path: string) => boolean) =>
  cp(join(from, room), join(to, room), {
    recursive: true,
    filter: (source) => {
      const path = relative(from, source);
      return !NOT_RUN.includes(path) && !path.endsWith('.map') && (isWanted(path) || !/\.\w+$/.test(path));
    },
  });

/** The files of large packages that are loaded: the tokenizers of a build for browsers, and the runtime as Node finds it. */
const LOADED: Readonly<Record<string, RegExp>> = {
  '@xenova/transformers': /^(?!dist\/)|^dist\/transformers\.min\.js$/,
  'onnxruntime-web': /^(?!dist\/)|^dist\/ort-(web\.node\.js|wasm)/,
};

/** False for packages within it, which are listed themselves, and for files of compilers and debuggers. */
function isNeeded(path: string, inside: string): boolean {
  if (/(^|\/)node_modules$|\.(map|[cm]?ts)$/.test(inside)) return false;
  return LOADED[nameAt(path)]?.test(inside) ?? true;
}

const nameAt = (path: string) => path.replace(/^.*node_modules\//, '');

/** The packages that svc needs to run, by path, in the order of the lock; without those that are left out, and what only they need. */
async function packagesOf(root: string): Promise<Map<string, PackageManifest>> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const found = new Map<string, PackageManifest>();
  for (const [path, { dev, devOptional }] of Object.entries(lock.packages)) {
    const name = nameAt(path);
    if (path === '' || dev || devOptional || name in LEFT_OUT || name.startsWith('@img/')) continue;
    const described = join(root, path, 'package.json');
    if (existsSync(described)) found.set(path, JSON.parse(await readFile(described, 'utf8')));
  }
  const project = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as PackageManifest;
  const needed = reachable(found, Object.keys(project.dependencies ?? {}));
  return new Map([...found].filter(([path]) => needed.has(path)));
}

/** The paths of packages that these names lead to. A bundled package that nothing asks for, 'npm install -g' would fetch. */
function reachable(packages: ReadonlyMap<string, PackageManifest>, names: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (from: string, name: string): void => {
    const path = foldersAbove(from)
      .map((folder) => `${folder}node_modules/${name}`)
      .find((candidate) => packages.has(candidate));
    const found = path === undefined ? undefined : packages.get(path);
    if (path === undefined || found === undefined || reached.has(path)) return;
    reached.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = found;
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      visit(path, next);
  };
  for (const name of names) visit('', name);
  return reached;
}

/** Where Node looks for what a package requires, the nearest first: `node_modules/a/`, then ``. */
function foldersAbove(path: string): string[] {
  if (path === '') return [''];
  return [`${path}/`, ...foldersAbove(path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1)))];
}

/** Writes an empty package of that name, in the version that is required: npm would fetch one if the version did not match. */
async function writeStandIn(to: string, name: string, dependent: PackageManifest | undefined): Promise<void> {
  const folder = join(to, pathOf(name));
  const version = dependent?.dependencies?.[name]?.replace(/^[^\d]+/, '');
  if (version === undefined) throw new Error(`Cannot pack: nothing asks for ${name} any more`);
  const description = `Nothing: svc needs no ${name}, which ${dependent?.name} asks for`;
  const described = { name, version, description, license: 'Apache-2.0', main: 'index.js' };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify(described, null, 2));
  await writeFile(join(folder, 'index.js'), 'module.exports = {};\n');
}

/** The package.json: the project's members that an installation needs, and the dependencies in the bundled versions. */
async function manifestOf(root: string, packages: ReadonlyMap<string, PackageManifest>): Promise<object> {
  const project = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Record<string, unknown> &
    PackageManifest;
  const { name, version, description, license, type, engines, bin } = project;
  const names = Object.keys(project.dependencies ?? {});
  const dependencies = Object.fromEntries(names.map((each) => [each, packages.get(pathOf(each))?.version]));
  return {
    name,
    version,
    description,
    license,
    private: true,
    type,
    engines,
    bin,
    dependencies,
    bundleDependencies: names,
  };
}
