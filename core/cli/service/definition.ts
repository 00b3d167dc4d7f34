/** What a service manager is given of the service: what it runs, and where. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { packageRoot } from '../../package-root.ts';

export type ServiceDefinition = {
  /** The program and its arguments, by absolute paths: a service manager knows no PATH of a shell. */
  command: readonly [program: string, ...args: string[]];
  /** The folder that it runs in. */
  folder: string;
  /** For what svc itself calls (systemd-notify, npm). */
  path: string;
  /** That of the svc which it runs: it is in the file, so that the file of another version differs and the service is restarted. */
  version: string;
};

/** @throws {OperatorError} this clone was not built */
export function serviceDefinition(folder: string, root = packageRoot()): ServiceDefinition {
  const program = join(root, 'dist/core/cli/main.js'); // also where this is called from source, which starts too slowly for a service
  if (!existsSync(program))
    throw new OperatorError(`Cannot install the service: '${program}' is not there; run 'npm run build' in '${root}'`);
  if (/\p{Cc}/u.test(program + folder))
    throw new OperatorError('Cannot install the service: there is a control character in its path or in its folder');
  const own = dirname(process.execPath);
  const path = [own, '/usr/local/bin', '/usr/bin', '/bin'].filter((each, index, all) => all.indexOf(each) === index);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return { command: [process.execPath, program, 'serve'], folder, path: path.join(':'), version };
}
