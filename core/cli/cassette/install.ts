/** How does a package come to lie under `.svc/cassettes`? npm resolves it, its lock is checked, and what the lock says is put beside its place. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import { type CheckedLock, checkedLock, type Dependency } from './checked-lock.ts';
import { type NpmParts, registriesOf, runNpm } from './npm.ts';
import { putTarball } from './source-tarball.ts';

/** `spec` is what npm is given. */
export type Wanted = { kind: 'address'; address: string } | { kind: 'package'; spec: string; local: boolean };

/** What was installed beside its place. */
export type Staged = {
  folder: string;
  /** `npm:<package>@<version>`, as in a list. */
  source: string;
  /** Where that was taken from, when it was a registry. */
  origin: string | null;
  /** What it brought along. */
  beside: Dependency[];
};

type Installing = { cassettes: string; env: Environment; signal: AbortSignal };

const SPEC = /^((?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*)(?:@[^\s/:@]+)?$/;
const TARBALL = /\.(?:tgz|tar\.gz)$/;
const STALE_MS = 24 * 3_600_000;
const STAGING = '.adding-';

/** The same on every machine, whatever the user has set; what only its developers need is left out. */
const LAYOUT = ['--omit=dev', '--install-strategy=hoisted', '--no-install-links', '--no-bin-links'];
const LOCK = ['--package-lock-only', '--lockfile-version=3', '--save', '--no-omit-lockfile-registry-resolved'];

/** Which of a package, a folder, a tarball and an address is meant? @throws {OperatorError} none, or two of them */
export async function wantedOf(asked: string, cwd: string): Promise<Wanted> {
  if (/^https?:\/\//i.test(asked)) return { kind: 'address', address: asked };
  const path = resolve(cwd, asked.replace(/^~(?=\/)/, homedir()));
  const found = await stat(path).catch(() => null);
  const named = /^(?:\.{0,2}\/|~\/|\.{1,2}$)/.test(asked) || TARBALL.test(asked);
  if (!named) {
    const spec = asked.replace(/^npm:/, '');
    if (!SPEC.test(spec))
      throw new OperatorError(
        `Cannot add '${asked}': it is no package, folder, tarball or address; such as @acme/summaries@1.2.0, ./summaries, ` +
          './summaries-1.2.0.tgz or https://acme.example/openapi',
        2,
      );
    if (found && spec === asked)
      throw new OperatorError(
        `Cannot add '${asked}': there is one here, and may be a package of that name; write './${asked}' or '${asked}@latest'`,
        2,
      );
    return { kind: 'package', spec, local: false };
  }
  if (!found) throw new OperatorError(`Cannot add '${asked}': there is no '${path}'`, 2);
  if (found.isDirectory() && !(await stat(join(path, 'package.json')).catch(() => null)))
    throw new OperatorError(
      `Cannot add '${asked}': there is no package.json with a name and a version in it; 'npm init' in '${path}' makes one`,
      2,
    );
  if (found.isFile() && !TARBALL.test(path))
    throw new OperatorError(`Cannot add '${asked}': of files only tarballs are added (.tgz); give the folder of it`, 2);
  return { kind: 'package', spec: path, local: true };
}

/**
 * Beside its place; whoever calls this removes it or puts it there. Nothing of it is run. It is unpacked once every package in the
 * lock is known to come from a registry of the user's or from inside another, and out of that lock alone.
 * @throws {OperatorError} npm failed, and its output; or what would come from elsewhere
 */
export async function stage(
  { spec, local }: Pick<Wanted & { kind: 'package' }, 'spec' | 'local'>,
  { cassettes, env, signal }: Installing,
): Promise<Staged> {
  await mkdir(cassettes, { recursive: true, mode: 0o700 });
  await removeStale(cassettes);
  const folder = join(cassettes, `${STAGING}${randomUUID().slice(0, 8)}`);
  await mkdir(folder);
  try {
    const parts = { folder, env, signal };
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const tarball = local ? await putTarball(spec, parts) : null;
    const { root, dependencies } = await lockOf(tarball === null ? spec : `./${tarball}`, tarball, parts);
    await runNpm(['ci', ...LAYOUT], parts);
    const beside = await installedOf(dependencies, folder);
    for (const name of await readdir(folder))
      if (name !== 'node_modules') await rm(join(folder, name), { recursive: true });
    // Names places on this machine, and would make the digest another one elsewhere.
    await rm(join(folder, 'node_modules/.package-lock.json'), { force: true });
    const origin = local ? null : root.origin;
    return { folder, source: `npm:${root.alias ?? root.name}@${root.version}`, origin, beside };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function lockOf(spec: string, tarball: string | null, parts: NpmParts): Promise<CheckedLock> {
  await runNpm(['install', ...LOCK, ...LAYOUT, spec], parts);
  const text = await readFile(join(parts.folder, 'package-lock.json'), 'utf8');
  const registries = /"resolved": *"http/.test(text) ? await registriesOf(parts) : []; // each run of npm takes its time
  return checkedLock(text, { registries, tarball });
}

/** Those that were installed: the lock has those of other platforms as well. @throws {OperatorError} something else was */
async function installedOf(dependencies: readonly Dependency[], folder: string): Promise<Dependency[]> {
  const read = async (path: string) =>
    (JSON.parse(await readFile(join(folder, path), 'utf8')) as { packages?: Record<string, object> }).packages ?? {};
  const [locked, installed] = [await read('package-lock.json'), await read('node_modules/.package-lock.json')];
  const other = Object.keys(installed).filter((path) => !Object.hasOwn(locked, path));
  if (other.length > 0)
    throw new OperatorError(`Cannot install it: npm has installed what its lock does not name: ${other.join(', ')}`);
  return dependencies.filter(({ path }) => Object.hasOwn(installed, path));
}

/** Takes the place of what was there. @returns `keep` when it stays, `undo` when it shall not */
export async function putInPlace(
  staged: string,
  place: string,
): Promise<{ keep(): Promise<void>; undo(): Promise<void> }> {
  const before = `${staged}-before`;
  const had = await rename(place, before).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  const back = async () => {
    if (had) await rename(before, place);
  };
  await rename(staged, place).catch(async (error: Error) => {
    await back();
    throw error;
  });
  return {
    keep: () => rm(before, { recursive: true, force: true }),
    undo: async () => {
      await rm(place, { recursive: true, force: true });
      await back();
    },
  };
}

/** Of commands that were killed. */
async function removeStale(cassettes: string): Promise<void> {
  for (const name of await readdir(cassettes)) {
    const path = join(cassettes, name);
    const found = name.startsWith(STAGING) ? await stat(path).catch(() => null) : null;
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}
