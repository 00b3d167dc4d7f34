/** Installs a package under `.svc/cassettes`: npm resolves it, its lock is checked, and what the lock names is installed in a staging folder. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import { type CheckedLock, checkedLock, type Dependency } from './checked-lock.ts';
import { type NpmParts, registriesOf, runNpm } from './npm.ts';
import { putTarball } from './source-tarball.ts';

/** `spec` is npm's argument. */
export type Wanted = { kind: 'address'; address: string } | { kind: 'package'; spec: string; local: boolean };

/** A package installed in a staging folder. */
export type Staged = {
  folder: string;
  /** `npm:<package>@<version>`, as in a list. */
  source: string;
  /** The registry that it came from; null: it came from this machine. */
  origin: string | null;
  /** The packages installed with it. */
  beside: Dependency[];
};

type Installing = { cassettes: string; env: Environment; signal: AbortSignal };

const SPEC = /^((?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*)(?:@[^\s/:@]+)?$/;
const TARBALL = /\.(?:tgz|tar\.gz)$/;
const STALE_MS = 24 * 3_600_000;
const STAGING = '.adding-';

/** Options that give the same layout on every machine, whatever the user has set; without development dependencies. */
const LAYOUT = ['--omit=dev', '--install-strategy=hoisted', '--no-install-links', '--no-bin-links'];
const LOCK = ['--package-lock-only', '--lockfile-version=3', '--save', '--no-omit-lockfile-registry-resolved'];

/** Tells a package, a folder, a tarball and an address apart. @throws {OperatorError} it is none of them, or could be two */
export async function wantedOf(requested: string, cwd: string): Promise<Wanted> {
  if (/^https?:\/\//i.test(requested)) return { kind: 'address', address: requested };
  const path = resolve(cwd, requested.replace(/^~(?=\/)/, homedir()));
  const found = await stat(path).catch(() => null);
  const isPath = /^(?:\.{0,2}\/|~\/|\.{1,2}$)/.test(requested) || TARBALL.test(requested);
  if (!isPath) {
    const spec = requested.replace(/^npm:/, '');
    if (!SPEC.test(spec))
      throw new OperatorError(
        `Cannot add '${requested}': it is no package, folder, tarball or address; such as @acme/summaries@1.2.0, ./summaries, ` +
          './summaries-1.2.0.tgz or https://acme.example/openapi',
        2,
      );
    if (found && spec === requested)
      throw new OperatorError(
        `Cannot add '${requested}': there is one here, and may be a package of that name; write './${requested}' or '${requested}@latest'`,
        2,
      );
    return { kind: 'package', spec, local: false };
  }
  if (!found) throw new OperatorError(`Cannot add '${requested}': there is no '${path}'`, 2);
  if (found.isDirectory() && !(await stat(join(path, 'package.json')).catch(() => null)))
    throw new OperatorError(
      `Cannot add '${requested}': there is no package.json with a name and a version in it; 'npm init' in '${path}' makes one`,
      2,
    );
  if (found.isFile() && !TARBALL.test(path))
    throw new OperatorError(
      `Cannot add '${requested}': of files only tarballs are added (.tgz); give the folder of it`,
      2,
    );
  return { kind: 'package', spec: path, local: true };
}

/**
 * Installs it in a staging folder; the caller removes that, or puts it in place. Nothing of it is run. It is unpacked only after every
 * package in the lock is known to come from a registry of the user's or from inside another, and only from that lock.
 * @throws {OperatorError} npm failed, with its output; or packages would come from elsewhere
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
    // It names paths of this machine, so that the digest would differ on other machines.
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
  const registries = /"resolved": *"http/.test(text) ? await registriesOf(parts) : []; // skipped where possible, since each run of npm is slow
  return checkedLock(text, { registries, tarball });
}

/** The dependencies that were installed: the lock also has those of other platforms. @throws {OperatorError} others were installed */
async function installedOf(dependencies: readonly Dependency[], folder: string): Promise<Dependency[]> {
  const read = async (path: string) =>
    (JSON.parse(await readFile(join(folder, path), 'utf8')) as { packages?: Record<string, object> }).packages ?? {};
  const [locked, installed] = [await read('package-lock.json'), await read('node_modules/.package-lock.json')];
  const other = Object.keys(installed).filter((path) => !Object.hasOwn(locked, path));
  if (other.length > 0)
    throw new OperatorError(`Cannot install it: npm has installed what its lock does not name: ${other.join(', ')}`);
  return dependencies.filter(({ path }) => Object.hasOwn(installed, path));
}

/** Moves a staged folder to its target, replacing what is there. @returns `keep` removes what was replaced, `undo` restores it */
export async function putInPlace(
  staged: string,
  target: string,
): Promise<{ keep(): Promise<void>; undo(): Promise<void> }> {
  const before = `${staged}-before`;
  const existed = await rename(target, before).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  const restore = async () => {
    if (existed) await rename(before, target);
  };
  await rename(staged, target).catch(async (error: Error) => {
    await restore();
    throw error;
  });
  return {
    keep: () => rm(before, { recursive: true, force: true }),
    undo: async () => {
      await rm(target, { recursive: true, force: true });
      await restore();
    },
  };
}

/** Removes staging folders that killed commands have left. */
async function removeStale(cassettes: string): Promise<void> {
  for (const name of await readdir(cassettes)) {
    const path = join(cassettes, name);
    const found = name.startsWith(STAGING) ? await stat(path).catch(() => null) : null;
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}
