/** Errors of the operating system as an operator reads them: a sentence with the path and the reason, instead of a stack. */

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not read or write there',
  EPERM: 'it belongs to another user, or this user may not change it',
  EROFS: 'its file system is read-only',
  EEXIST: 'it is there already, and is no folder',
  ENOTDIR: 'a part of it is a file, and no folder',
  EISDIR: 'it is a folder, and no file',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
};

/** null: it is another error, and most likely our bug. */
export function systemProblem(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, path } = error as NodeJS.ErrnoException;
  const why = code === undefined || path === undefined ? undefined : WHY[code];
  return why === undefined ? null : `Cannot use '${path}': ${why} (${code})`;
}
