/** How does a package come to lie under `.svc/cassettes`? The user's own npm puts it beside its place, without running anything of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';

/** `spec` is what npm is given. */
export type Wanted = { kind: 'address'; address: string } | { kind: 'package'; spec: string; local: boolean };

/** What was installed beside its place; `npm:<package>@<version>` is its source in a list, `beside` what it brought along. */
export type Staged = { folder: string; source: string; beside: string[] };

type Installing = { cassettes: string; env: Environment; signal: AbortSignal };

const SPEC = /^((?:@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*)(?:@[^\s/:@]+)?$/;
const TARBALL = /\.(?:tgz|tar\.gz)$/;
const NPM_MS = 300_000;
const SAID_MS = 1_000; // for its last words
const KILL_MS = 3_000; // for npm to end by itself
const STALE_MS = 24 * 3_600_000;
const STAGING = '.adding-';

/** Scripts are not run, and what only its developers need is left out. A folder is packed as for a registry. */
const ARGUMENTS = [
  ...['--ignore-scripts', '--install-links', '--omit=dev', '--save', '--no-global', '--no-package-lock'],
  ...['--no-bin-links', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'],
];

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

/** Beside its place; whoever calls this removes it or puts it there. @throws {OperatorError} npm failed, and what it said */
export async function stage({ spec }: { spec: string }, { cassettes, env, signal }: Installing): Promise<Staged> {
  await mkdir(cassettes, { recursive: true, mode: 0o700 });
  await removeStale(cassettes);
  const folder = join(cassettes, `${STAGING}${randomUUID().slice(0, 8)}`);
  await mkdir(folder);
  try {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await npm(['install', ...ARGUMENTS, '--prefix', folder, spec], { cwd: folder, env, signal });
    const { dependencies = {} } = await described(folder);
    const [name] = Object.keys(dependencies);
    if (name === undefined) throw new OperatorError(`Cannot add '${spec}': npm has installed nothing`);
    const { version } = await described(join(folder, 'node_modules', name));
    const beside = await installedIn(folder, name);
    // Both name places on this machine, and would make the digest another one elsewhere.
    await rm(join(folder, 'package.json'));
    await rm(join(folder, 'node_modules/.package-lock.json'), { force: true });
    return { folder, source: `npm:${name}@${version}`, beside };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
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

type Described = { version?: string; dependencies?: Record<string, string> };

/** Its dependencies, and theirs. */
async function installedIn(folder: string, name: string): Promise<string[]> {
  const lock = await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages = {} } = JSON.parse(lock) as { packages?: Record<string, { version?: string }> };
  return Object.entries(packages)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`)
    .filter((one) => !one.startsWith(`${name}@`))
    .sort();
}

const described = async (folder: string): Promise<Described> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Described;

/** With the user's registry and proxy, and none of our settings: some are secrets. */
function npm(
  args: string[],
  { cwd, env, signal }: { cwd: string; env: Environment; signal: AbortSignal },
): Promise<void> {
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SVC_')));
  return new Promise((settle, fail) => {
    const child = spawn('npm', args, { cwd, env: passed, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    const end = () => {
      killGroup(child, 'SIGTERM');
      setTimeout(killGroup, KILL_MS, child, 'SIGKILL').unref();
    };
    const tooLong = setTimeout(end, NPM_MS);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, 65_536);
    });
    const over = () => {
      clearTimeout(tooLong);
      signal.removeEventListener('abort', end);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      over();
      if (error.code !== 'ENOENT') fail(error);
      else fail(new OperatorError("Cannot install it: there is no 'npm' on the PATH; it comes with Node"));
    });
    // Whatever it may have left behind holds the other end of this, and it would never close.
    child.once('exit', () => setTimeout(() => child.stderr.destroy(), SAID_MS).unref());
    child.once('close', (code) => {
      over();
      if (code === 0) settle();
      else if (signal.aborted) fail(new OperatorError('Cannot install it: it was interrupted'));
      else
        fail(
          new OperatorError(
            `Cannot install it: npm failed${code === null ? ', or took too long' : ''}\n${excerpt(said)}`,
          ),
        );
    });
  });
}

/** npm and what it has started: it leads a group of its own. */
function killGroup({ pid, exitCode, signalCode }: ChildProcess, how: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, how);
  } catch {} // it has just ended
}

/** What npm says first is why; stacks and where its log is come after. */
const excerpt = (said: string): string =>
  said
    .split('\n')
    .filter((line) => /^npm (?:error|ERR!)/.test(line) && !/ {4}at |complete log/.test(line))
    .slice(0, 6)
    .map((line) => `  ${plain(line)}`)
    .join('\n');
