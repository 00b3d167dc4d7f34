/** Resolves a source of the list to the code of a cassette: a folder, a file, an installed package, or an address. */
import { existsSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { Rejection } from '../running.ts';
import { SERVICE_FOLDER, within } from './digest.ts';

export type CassetteSource =
  | { kind: 'module'; folder: string; entry: string; beside?: readonly string[] } // absolute; all of it is in `folder`, or for ours in `beside`
  | { kind: 'remote'; address: URL };

export type At = {
  /** The folder of the list that names it. */
  base: string;
  /** Where packages are installed, each in a folder of its entry's name: `.svc/cassettes`. */
  installed: string;
  /** The entry's name. */
  name: string;
};

/** The entry file of a folder without a package.json that names one: the first of these that exists. */
const ENTRIES = ['cassette.js', 'cassette.mjs', 'index.js', 'index.mjs'];
/** Folders of our own code; a clone may have cassettes of its user beside them. */
const OURS = ['cassettes', 'core'];
const NPM = /^npm:((?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*)(?:@(.+))?$/;
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;
const BUILT = import.meta.url.endsWith('.js');

/** Only looks at files, and runs nothing. @throws {Rejection} resolve, with what would be valid */
export async function resolveSource(source: string, at: At): Promise<CassetteSource> {
  if (/^https?:/i.test(source)) return { kind: 'remote', address: addressOf(source) };
  if (source.startsWith('npm:')) return resolvePackage(source, at);
  const scheme = /^[a-z][a-z0-9+.-]+:/i.exec(source)?.[0];
  if (scheme)
    throw refused(
      `'${scheme}' is no kind of source; give a folder, a file, npm:<package>@<version> or an http(s) address`,
    );
  const path = resolve(at.base, source);
  const found = await stat(path).catch(() => null);
  if (at.base === packageRoot() && OURS.some((room) => within(join(packageRoot(), room), path)))
    return resolveOurs(path, found?.isDirectory() ?? false);
  if (!found) throw refused(`there is no '${path}'`);
  await refuseAroundService(found.isDirectory() ? path : dirname(path), at);
  if (found.isDirectory()) return { kind: 'module', folder: path, entry: await entryOf(path) };
  if (!found.isFile()) throw refused(`'${path}' is neither a folder nor a file`);
  if (/\.[cm]?tsx?$/.test(path)) throw refused(`'${path}' is TypeScript; build it, and name the JavaScript file`);
  return { kind: 'module', folder: dirname(path), entry: path };
}

/**
 * The service's folder may be directly in that of a cassette, as `.svc`, where it is left out. Deeper in it, its database and credentials would
 * be part of the cassette. @throws {Rejection} resolve
 */
async function refuseAroundService(folder: string, { installed }: At): Promise<void> {
  const real = (path: string) => realpath(path).catch(() => path);
  const [around, service] = await Promise.all([real(folder), real(dirname(installed))]);
  if (![service, dirname(installed)].some((path) => basename(path) === SERVICE_FOLDER)) return; // a temporary folder, of a check
  if (within(around, service) && service !== join(around, SERVICE_FOLDER))
    throw refused(
      `the service's own folder '${service}' is in '${folder}'; move the cassette into a folder of its own`,
    );
}

/** @throws {Rejection} resolve; user and password are not repeated */
function addressOf(source: string): URL {
  if (!URL.canParse(source)) throw refused('its address cannot be read; write http(s)://<host>/<path>');
  const address = new URL(source);
  if (address.username !== '' || address.password !== '')
    throw refused('its address holds a user or a password, which anybody who reads the list would see; take it out');
  if (address.hash !== '')
    throw refused(`the address '${source}' has a fragment ('#…'), which no server sees; take it out`);
  return address;
}

/** A cassette of ours: the TypeScript source, or when built the JavaScript under `dist`. */
async function resolveOurs(path: string, isFolder: boolean): Promise<CassetteSource> {
  const sourceFile = isFolder ? join(path, 'cassette.ts') : path;
  const entry = BUILT
    ? join(packageRoot(), 'dist', relative(packageRoot(), sourceFile)).replace(/\.ts$/, '.js')
    : sourceFile;
  if (!(await stat(entry).catch(() => null))?.isFile()) throw refused(`there is no '${entry}'`);
  const code = BUILT ? join(packageRoot(), 'dist') : packageRoot();
  const beside = [join(code, 'core'), ...librariesOf(packageRoot()), join(packageRoot(), 'package.json')];
  return { kind: 'module', folder: dirname(entry), entry, beside };
}

/** The folders in which Node looks for packages from there: also those above, when svc was installed as a package itself. */
function librariesOf(folder: string): string[] {
  const above = dirname(folder) === folder ? [] : librariesOf(dirname(folder));
  const here = join(folder, 'node_modules');
  return basename(folder) !== 'node_modules' && existsSync(here) ? [here, ...above] : above;
}

async function resolvePackage(source: string, { installed, name }: At): Promise<CassetteSource> {
  const [, pack, version] = NPM.exec(source) ?? [];
  const hint = `install it with 'svc cassette add ${pack ?? '<package>'}${version ? `@${version}` : ''} --name ${name}'`;
  if (pack === undefined || version === undefined || !VERSION.test(version))
    throw refused(`'${source}' must be npm:<package>@<version>, with one exact version such as 1.2.0`);
  const folder = join(installed, name);
  const inside = join(folder, 'node_modules', pack);
  const described = await describedBy(inside);
  if (!described) throw refused(`${pack} is not installed in '${folder}'; ${hint}`);
  if (described.version !== version)
    throw refused(
      `${pack} ${version} is wanted, and ${String(described.version)} is installed in '${folder}'; ${hint}`,
    );
  return { kind: 'module', folder, entry: await entryOf(inside, described) };
}

type Described = { version?: unknown; exports?: unknown; main?: unknown };

/** Its package.json; null when there is none. */
async function describedBy(folder: string): Promise<Described | null> {
  const path = join(folder, 'package.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const described: unknown = JSON.parse(text);
    return typeof described === 'object' && described !== null ? described : {};
  } catch {
    throw refused(`'${path}' is no JSON`);
  }
}

/** The entry module of a folder, as Node would find it: `exports`, then `main`, then the usual names. */
async function entryOf(folder: string, known?: Described): Promise<string> {
  const described = known ?? (await describedBy(folder)) ?? {};
  const declared = targetOf(described.exports) ?? (typeof described.main === 'string' ? described.main : null);
  if (declared !== null) {
    const entry = resolve(folder, declared);
    if (!within(folder, entry))
      throw refused(`the package.json of '${folder}' names '${declared}', which is outside of it`);
    const real = await realpath(entry).catch(() => null);
    if (real === null || !(await stat(real)).isFile())
      throw refused(
        `there is no '${entry}', which its package.json names; it may have to be built first ('npm run build')`,
      );
    if (!within(await realpath(folder), real)) throw refused(`'${entry}' is a symlink that leads out of '${folder}'`);
    return entry;
  }
  for (const entry of ENTRIES.map((file) => join(folder, file)))
    if ((await stat(entry).catch(() => null))?.isFile()) return entry;
  throw refused(
    `there is no module in '${folder}': its package.json names none under "exports" or "main", and there is no ${ENTRIES.join(', ')}`,
  );
}

/** The file that `import '<package>'` leads to: the first condition that Node accepts. */
function targetOf(exports: unknown): string | null {
  if (typeof exports === 'string') return exports;
  if (Array.isArray(exports)) return exports.map(targetOf).find((target) => target !== null) ?? null;
  if (typeof exports !== 'object' || exports === null) return null;
  if ('.' in exports) return targetOf(exports['.']);
  for (const [condition, target] of Object.entries(exports))
    if (['node', 'import', 'module-sync', 'default'].includes(condition)) {
      const found = targetOf(target);
      if (found !== null) return found;
    }
  return null;
}

const refused = (why: string) => new Rejection('resolve', `Cannot find its code: ${why}`);
