/** The working folder of the process, which may have been deleted since: then the system names none. */
import { OperatorError } from '../errors.ts';

/** @throws {OperatorError} with the status of wrong usage: a command that needs a folder has to be called in another one */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'it was deleted' : `the system does not name it (${code})`;
    throw new OperatorError(`Cannot use the folder in which svc was called: ${why}; change to another one`, 2);
  }
}
