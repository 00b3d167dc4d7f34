/** The digest of a folder: one hash over all that is in it, which shows whether it is still what was installed. */
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, opendir, readlink, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { Rejection } from '../running.ts';

const CHUNK_BYTES = 65_536;

/** The service's own folder, with its database and credentials. Where it is directly in a cassette's folder it is no part of the cassette. */
export const SERVICE_FOLDER = '.svc';

/**
 * `sha256:<hex>` over every file under the folder, dependencies included: path, content, whether it may be executed, and where a
 * symlink leads; not over times, owners and empty folders. It is the same on every machine, in whichever order the disk lists files.
 * Nothing but the service's own `.svc` is left out: whatever else is in the folder can be read and imported by the code that runs from it,
 * and that folder cannot by a process of its own (life.ts). Memory holds no more than the
 * names in one folder and those above it.
 * @throws {Rejection} digest: a symlink leads out of the folder, into that `.svc` or nowhere, or something in it is no file or cannot be read
 */
export async function digestOf(folder: string): Promise<string> {
  try {
    if (!(await stat(folder)).isDirectory()) throw refused(folder, 'is no folder');
    const [root, hash] = [await realpath(folder), createHash('sha256')];
    const walk: Walk = { root, hash, chunk: Buffer.allocUnsafe(CHUNK_BYTES), service: null };
    await addFolder(walk, '');
    return `sha256:${walk.hash.digest('hex')}`;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (error instanceof Rejection || code === undefined) throw error;
    throw refused(path ?? folder, `cannot be read: ${code}`);
  }
}

/** `service`: the service's own folder, which is left out; null: there is none. */
type Walk = { root: string; hash: Hash; chunk: Buffer; service: string | null };

/** A folder's name is sorted as if it ended with `/`, so that files come in the order of their whole paths. */
async function addFolder(walk: Walk, path: string): Promise<void> {
  const found: { name: string; kind: 'folder' | 'file' | 'link' }[] = [];
  for await (const entry of await opendir(join(walk.root, path))) {
    if (path === '' && entry.name === SERVICE_FOLDER) {
      walk.service = join(walk.root, SERVICE_FOLDER);
      continue;
    }
    const kind = entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : null;
    if (kind === null) throw refused(join(walk.root, path, entry.name), 'is neither a file nor a folder nor a symlink');
    found.push({ name: entry.name, kind });
  }
  const key = ({ name, kind }: (typeof found)[number]) => Buffer.from(kind === 'folder' ? `${name}/` : name);
  for (const entry of found.sort((one, other) => Buffer.compare(key(one), key(other)))) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.kind === 'folder') await addFolder(walk, inner);
    else if (entry.kind === 'file') await addFile(walk, inner);
    else await addLink(walk, inner);
  }
}

async function addFile(walk: Walk, path: string): Promise<void> {
  const file = await open(join(walk.root, path));
  try {
    const executable = ((await file.stat()).mode & 0o100) !== 0;
    frame(walk.hash, executable ? 'executable' : 'file', path, await contentDigest(file, walk.chunk));
  } finally {
    await file.close();
  }
}

async function contentDigest(file: FileHandle, chunk: Buffer): Promise<Buffer> {
  const hash = createHash('sha256');
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length);
    if (bytesRead === 0) return hash.digest();
    hash.update(chunk.subarray(0, bytesRead));
  }
}

async function addLink(walk: Walk, path: string): Promise<void> {
  const link = join(walk.root, path);
  const target = await readlink(link);
  const resolvedTarget = resolve(link, '..', target);
  const realTarget = await realpath(link).catch(() => null);
  if (realTarget === null) throw refused(link, 'is a symlink that leads nowhere');
  if (target.startsWith(sep) || !within(walk.root, resolvedTarget) || !within(walk.root, realTarget))
    throw refused(link, 'is a symlink that leads out of the folder');
  const { service } = walk;
  if (service && [resolvedTarget, realTarget].some((to) => within(service, to) || within(to, service)))
    throw refused(link, `is a symlink that leads to '${service}', the service's own folder, or to a folder around it`);
  frame(walk.hash, 'link', path, Buffer.from(target));
}

export const within = (folder: string, path: string): boolean =>
  path === folder || (!relative(folder, path).startsWith(`..${sep}`) && relative(folder, path) !== '..');

/** Each part is preceded by its length, so that no two lists of files give the same bytes. */
function frame(hash: Hash, kind: string, path: string, content: Buffer): void {
  for (const part of [Buffer.from(kind), Buffer.from(path), content]) hash.update(`${part.length}:`).update(part);
}

const refused = (path: string, why: string) => new Rejection('digest', `Cannot take its digest: '${path}' ${why}`);
