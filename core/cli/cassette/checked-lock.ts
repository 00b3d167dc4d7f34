/** The packages that npm wants to install, and where each comes from. Read from npm's lock before anything is unpacked; refused where one
 *  comes from anywhere but a registry of the user's or the inside of another package. */

import { shownSource } from '../../cassette/shown-source.ts';
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';

export type Dependency = {
  /** Its path in the lock: `node_modules/dep`. */
  path: string;
  name: string;
  version: string;
  /** The name under which it is imported, when that is another one. */
  alias: string | null;
  /** `from 127.0.0.1:4873`, or `inside tally`. */
  origin: string;
};

export type CheckedLock = {
  /** The requested package. */
  root: Dependency;
  dependencies: Dependency[];
};

/** A package in the lock: only the members that are used here. */
type Locked = {
  name?: unknown;
  version?: unknown;
  resolved?: unknown;
  integrity?: unknown;
  link?: unknown;
  inBundle?: unknown;
};

export type LockParts = {
  /** Each ends with `/`. */
  registries: readonly string[];
  /** The tarball that was put into the folder of the lock; null: the requested package comes from a registry. */
  tarball: string | null;
};

const SHA512 = /(?:^|\s)sha512-[A-Za-z0-9+/]{86}==(?:\s|$)/;
const INTEGRITY = /^(?:sha(?:1|256|384|512)-[A-Za-z0-9+/]+={0,2}\s*)+$/;
const FOLDER = 'node_modules/';

/** @throws {OperatorError} every refused package, by its name, with where it would come from */
export function checkedLock(text: string, parts: LockParts): CheckedLock {
  const packages = packagesIn(text);
  const direct = Object.keys(dependenciesOf(packages[''])).map((name) => `${FOLDER}${name}`);
  const [root] = direct;
  if (root === undefined || direct.length > 1 || !packages[root])
    throw new OperatorError('Cannot install it: npm has found no package in it');
  const entries = Object.entries(packages).filter(([path]) => path !== '');
  const problems = entries.flatMap(([path, locked]) => problemOf(path, locked, { ...parts, packages, root }) ?? []);
  if (problems.length > 0)
    throw new OperatorError(
      `Cannot install it: of what it brings along, not everything comes from a registry of yours\n${problems
        .map((problem) => `  - ${plain(problem)}`)
        .join('\n')}`,
    );
  const dependency = ([path, locked]: [string, Locked]) => dependencyOf(path, locked, packages);
  return {
    root: dependency([root, packages[root]]),
    dependencies: entries.filter(([path]) => path !== root).map(dependency),
  };
}

type Packages = Record<string, Locked>;

function packagesIn(text: string): Packages {
  const { packages } = JSON.parse(text) as { packages?: unknown };
  if (typeof packages !== 'object' || packages === null)
    throw new OperatorError('Cannot install it: this npm writes no lock that can be read; npm 8 and later do');
  return packages as Packages;
}

const dependenciesOf = (root: unknown): object => (root as { dependencies?: object } | undefined)?.dependencies ?? {};

type LockContext = LockParts & { packages: Packages; root: string };

/** Why it is refused; null when it is not. */
function problemOf(path: string, locked: Locked, { registries, tarball, packages, root }: LockContext): string | null {
  const { version, resolved, integrity, link } = locked;
  const label = nameOf(path, locked);
  if (typeof resolved === 'string' && !(path === root && tarball !== null && resolved === `file:${tarball}`)) {
    const from = registries.some((registry) => isUnder(registry, resolved));
    if (!from || link) return `${label} would come from ${shownOrigin(resolved)}, which is no registry of yours`;
  } else if (resolved !== undefined && typeof resolved !== 'string') return `${label} would come from nowhere known`;
  if (link || !path.startsWith(FOLDER)) return `${label} would be a link to a folder of this machine`;
  if (typeof version !== 'string') return `${label} has no version`;
  if (typeof integrity === 'string' && INTEGRITY.test(integrity) && SHA512.test(integrity)) return null;
  if (integrity === undefined && ownerOf(path, packages) !== null) return null;
  return `${label}${typeof resolved === 'string' ? ` from ${shownOrigin(resolved)}` : ''} has no sha512 by which it could be told again`;
}

/** The package whose tarball contains it, and whose hash covers it; null: none does. */
function ownerOf(path: string, packages: Packages): string | null {
  if (packages[path]?.inBundle !== true) return null;
  for (let end = path.lastIndexOf(`/${FOLDER}`); end > 0; end = path.lastIndexOf(`/${FOLDER}`, end - 1)) {
    const outer = packages[path.slice(0, end)];
    if (outer && outer.inBundle !== true) return path.slice(0, end);
  }
  return null;
}

function isUnder(registry: string, resolved: string): boolean {
  if (!URL.canParse(resolved)) return false;
  const [base, found] = [new URL(registry), new URL(resolved)];
  return (
    found.origin === base.origin &&
    found.pathname.startsWith(base.pathname) &&
    found.username === '' &&
    found.password === ''
  );
}

function dependencyOf(path: string, locked: Locked, packages: Packages): Dependency {
  const alias = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
  const name = typeof locked.name === 'string' ? locked.name : alias;
  const owner = ownerOf(path, packages);
  const { resolved } = locked;
  return {
    path,
    name,
    version: String(locked.version),
    alias: alias === name ? null : alias,
    origin:
      owner !== null
        ? `inside ${nameOf(owner, {})}`
        : typeof resolved === 'string' && /^https?:/.test(resolved)
          ? `from ${new URL(resolved).host}`
          : 'from your registry',
  };
}

/** `dep@1.0.0`. */
function nameOf(path: string, { version }: Locked): string {
  const name = path.slice(path.lastIndexOf(FOLDER) < 0 ? 0 : path.lastIndexOf(FOLDER) + FOLDER.length);
  return typeof version === 'string' ? `${name}@${version}` : name;
}

/** An address as it is shown, without credentials. */
const shownOrigin = (resolved: string): string => shownSource(resolved).replace(/^([a-z+]+:\/\/)[^/@]*@/i, '$1');
