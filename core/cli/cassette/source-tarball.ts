/** Packs a folder or tarball of this machine into the one tarball that npm installs, without running anything of it or reading other files. */
import {
  copyFile,
  lstat,
  mkdir,
  opendir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { create, extract, list } from 'tar';
import { SERVICE_FOLDER, within } from '../../cassette/admission/digest.ts';
import { OperatorError } from '../../errors.ts';
import { isObject } from '../../parse-json.ts';
import { plain } from '../units.ts';
import { type NpmParts, runNpm } from './npm.ts';

const NAME = 'source.tgz';
const MOST_BYTES = 1_048_576; // of a package.json

type Described = Partial<Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', unknown>> & {
  bundleDependencies?: unknown;
  bundledDependencies?: unknown;
};

/** @param source absolute @returns the tarball's name in the folder @throws {OperatorError} it would include what is not its own */
export async function putTarball(source: string, parts: NpmParts): Promise<string> {
  const tarball = join(parts.folder, NAME);
  if ((await stat(source)).isDirectory()) {
    const described = parsed(await readFile(join(source, 'package.json'), 'utf8'));
    refuseElsewhere(source, described);
    if (described.bundleDependencies || described.bundledDependencies) await refuseLinkedOut(source);
    await pack(source, tarball, parts);
  } else await copyFile(source, tarball);
  refuseElsewhere(source, await describedIn(tarball)); // checks the one that is installed; the folder may have changed meanwhile
  return NAME;
}

/**
 * Packs as for a registry, without running its scripts, and without the folder of a service, which npm would pack with its database and
 * credentials. npm runs in a folder of ours, so that it does not read the source's `.npmrc`.
 */
async function pack(source: string, tarball: string, parts: NpmParts): Promise<void> {
  const into = join(parts.folder, 'packed');
  await mkdir(into);
  const shown = await hideServiceFolder(join(source, SERVICE_FOLDER));
  try {
    await runNpm(['pack', '--pack-destination', into, source], parts);
  } finally {
    await shown();
  }
  const [packed] = await readdir(into);
  if (packed === undefined) throw new OperatorError(`Cannot add '${source}': npm has packed nothing`);
  await withoutServiceFolder(join(into, packed), into);
  await rename(join(into, packed), tarball);
}

/**
 * Tells npm to leave out what is in the folder of a service: it may be large, and a file that changes while it is packed fails the whole.
 * Where that cannot be written, it is taken out of the tarball. @returns takes that back
 */
async function hideServiceFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, '.npmignore');
  try {
    if (!(await lstat(folder)).isDirectory()) return async () => {};
    await writeFile(file, '*\n', { flag: 'wx' });
  } catch {
    return async () => {};
  }
  return () => rm(file, { force: true });
}

/** Packs it again where it holds such a folder. npm puts everything below `package/`. */
async function withoutServiceFolder(file: string, folder: string): Promise<void> {
  const own = `package/${SERVICE_FOLDER}/`;
  let isIn = false;
  await list({
    file,
    onReadEntry: ({ path }) => {
      if (path.startsWith(own)) isIn = true;
    },
  });
  if (!isIn) return;
  await extract({ file, cwd: folder, filter: (path) => !path.startsWith(own) });
  await create({ file, cwd: folder, gzip: true, portable: true }, ['package']);
}

/**
 * Refuses dependencies that are neither a version of a registry nor an alias of one. npm or the check of the lock would refuse them as
 * well; here they are named before npm contacts any of those places.
 */
function refuseElsewhere(source: string, described: Described): void {
  const elsewhere = [described.dependencies, described.optionalDependencies, described.peerDependencies].flatMap(
    (group) =>
      typeof group === 'object' && group !== null
        ? Object.entries(group).filter(([, spec]) => typeof spec !== 'string' || !isRegistrySpec(spec))
        : [],
  );
  if (elsewhere.length > 0)
    throw new OperatorError(
      [
        `Cannot add '${plain(source)}': not everything that it depends on comes from a registry`,
        ...elsewhere.map(([name, spec]) => `  - ${plain(`${name} would come from ${String(spec)}`)}`),
      ].join('\n'),
    );
}

/** A range, a version or a tag has no `/` and no `:`; `npm:` is the prefix of an alias. */
function isRegistrySpec(spec: string): boolean {
  const range = spec.trim().replace(/^npm:(?:@[^/@:]+\/)?[^/@:]+(?:@|$)/, '');
  return !/[/\\:]|^\.|^~$|\.(?:tgz|tar|tar\.gz)$/i.test(range);
}

/** Refuses links that lead out of the folder: npm packs what a link of a bundled dependency leads to, wherever that is. */
async function refuseLinkedOut(source: string): Promise<void> {
  const root = await realpath(source);
  const look = async (folder: string): Promise<void> => {
    const entries = await opendir(folder).catch(() => null);
    if (!entries) return;
    for await (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await look(path);
      else if (entry.isSymbolicLink() && !within(root, await realpath(path).catch(() => root)))
        throw new OperatorError(
          `Cannot add '${plain(source)}': '${plain(path)}' is a symlink that leads out of the folder, and bundled dependencies are packed with what they link to`,
        );
    }
  };
  await look(join(root, 'node_modules'));
}

/** The package.json as npm unpacks it: the first segment of each path does not count, and of two files the last one does. */
async function describedIn(tarball: string): Promise<Described> {
  let text = '';
  try {
    await list({
      file: tarball,
      strict: true,
      onReadEntry: (entry) => {
        if (!/^(?:\.\/)?[^/]+\/package\.json$/.test(entry.path) || entry.size > MOST_BYTES) return;
        text = '';
        entry.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1'); // a character may span two chunks
        });
      },
    });
  } catch (error) {
    throw new OperatorError(`Cannot add it: its tarball cannot be read: ${plain((error as Error).message)}`);
  }
  return text === '' ? {} : parsed(Buffer.from(text, 'latin1').toString('utf8'));
}

function parsed(text: string): Described {
  try {
    const described: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return isObject(described) ? described : {};
  } catch {
    throw new OperatorError('Cannot add it: its package.json is no JSON');
  }
}
