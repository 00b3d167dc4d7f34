/** The file that `-o` names: a regular one appears there once it is whole, and a device or a pipe gets the bytes as they come. */
import { constants, createWriteStream, fstatSync, type Stats, type WriteStream } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { unfinishedFile } from './unfinished-file.ts';

export type OutputFile = {
  /** Takes the bytes. Once it has closed they are on the disk, where it is one. */
  stream: WriteStream;
  /** Where the bytes of a regular file are until it has its name. Null: they go straight to a device or a pipe, and cannot be read back. */
  part: string | null;
  /** The file without links: what is written or replaced. */
  target: string;
  isTerminal: boolean;
  /** Gives a whole file its name, after the stream has closed. */
  publish(): Promise<void>;
  /** Ends the stream, and removes what was written of a regular file. */
  discard(): Promise<void>;
};

/** `isSecret`: for its owner alone, also where others can read the existing file. */
type OutputOptions = { isSecret?: boolean };

/**
 * A new file is for its owner alone, an existing one keeps its mode and group, and a link stays and leads to what was written. What standard
 * output or standard error is redirected to goes on there: others write to it as well.
 * @throws {Error} of the system, with a `code`: `path` is a folder, or cannot be written
 */
export async function openOutputFile(path: string, { isSecret = false }: OutputOptions = {}): Promise<OutputFile> {
  const existing = await stat(path).catch(noneIfMissing);
  const descriptor = existing && STANDARD.find((fd) => isOpenAs(fd, existing));
  if (descriptor) return redirected(path, descriptor);
  if (existing && !existing.isFile()) return straight(path);
  const target = existing ? await realpath(path) : await targetOf(path);
  const part = await unfinishedFile(target);
  const file = await open(part, 'wx', 0o600); // what another user has put at this name is neither written nor followed
  if (existing && !isSecret) await giveRights(file, existing).catch(closing(file, part));
  const stream = streamOf(file);
  return {
    ...{ stream, part, target, isTerminal: false },
    publish: () => rename(part, target),
    discard: async () => {
      stream.destroy();
      await rm(part, { force: true });
    },
  };
}

/** Of standard output and standard error: `/dev/stdout` is a link to them. */
const STANDARD = [1, 2] as const;

function isOpenAs(fd: number, { dev, ino }: Stats): boolean {
  try {
    const open = fstatSync(fd);
    return open.dev === dev && open.ino === ino;
  } catch {
    return false; // it is closed
  }
}

/** The mode of the existing file, and its group where that can be had; else nothing for the group. */
async function giveRights(file: FileHandle, { mode, gid }: Stats): Promise<void> {
  const isGroup = await file.chown(-1, gid).then(
    () => true,
    () => false,
  );
  await file.chmod(mode & (isGroup ? 0o777 : 0o707));
}

/** No rename: a regular file in place of `/dev/null` would break whatever else on the machine writes there. */
async function straight(path: string): Promise<OutputFile> {
  const file = await open(path, constants.O_WRONLY);
  const isTerminal = isatty(file.fd);
  return inPlace(path, streamOf(file, false), isTerminal); // a pipe cannot be flushed
}

/** Behind what was written there before: to open the file anew would begin at its start. */
const redirected = (path: string, fd: number): OutputFile =>
  inPlace(path, withoutCrash(createWriteStream('', { fd, autoClose: false })), isatty(fd));

/** What is written is where it stays. */
const inPlace = (target: string, stream: WriteStream, isTerminal: boolean): OutputFile => ({
  ...{ stream, part: null, target, isTerminal },
  publish: async () => {},
  discard: async () => void stream.destroy(), // which leaves standard output open
});

const streamOf = (file: FileHandle, flush = true): WriteStream => withoutCrash(file.createWriteStream({ flush }));

/** Also an error that comes when its user has already stopped on another one ends no process. */
function withoutCrash(stream: WriteStream): WriteStream {
  stream.on('error', () => {});
  return stream;
}

const closing = (file: FileHandle, part: string) => async (error: unknown) => {
  await file.close();
  await rm(part, { force: true });
  throw error;
};

/** Where a new file goes: a link may lead to what is not there yet. */
async function targetOf(path: string): Promise<string> {
  const link = await lstat(path).catch(noneIfMissing);
  if (!link?.isSymbolicLink()) return path;
  return targetOf(resolve(await realpath(dirname(path)), await readlink(path)));
}

function noneIfMissing(error: NodeJS.ErrnoException): Stats | null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
