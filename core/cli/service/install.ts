/** `svc service install`: writes the file of the service and has it started, now and at each login. Again, it changes what has changed. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { replaceFile } from '../../config/replace-file.ts';
import type { Io } from '../io.ts';
import { type ServiceDefinition, serviceDefinition } from './definition.ts';
import { type Machine, managerOf } from './manager.ts';
import { shown } from './run-command.ts';
import { runSteps } from './steps.ts';

type InstallOptions = { folder?: string; dryRun: boolean; json: boolean };
type Parts = Pick<Machine, 'platform' | 'uid'> & { define?: (folder: string) => ServiceDefinition };

/** @returns the exit status: 1 where the file is written and the service manager did not start it @throws {OperatorError} */
export async function installService(
  { folder, dryRun, json }: InstallOptions,
  io: Io,
  { define = serviceDefinition, ...machine }: Parts = {},
): Promise<0 | 1> {
  const manager = managerOf({ ...io, ...machine });
  const { file } = manager;
  const runsIn = folder === undefined ? io.home : resolve(io.cwd, folder);
  const text = manager.text(define(runsIn));
  const isNew = !existsSync(file) || readFileSync(file, 'utf8') !== text;
  const steps = manager.install(isNew);
  if (dryRun) {
    const commands = steps.map(({ command }) => shown(command));
    if (json) io.out(`${JSON.stringify({ manager: manager.name, file, text, changed: isNew, commands }, null, 2)}\n`);
    else io.out(`# ${file}\n${text}\n${commands.map((line) => `# ${line}\n`).join('')}`);
    return 0;
  }
  mkdirSync(dirname(file), { recursive: true });
  if (isNew) replaceFile(file, text);
  const { ran, failed } = await runSteps(steps, io);
  const done = { manager: manager.name, file, changed: isNew, commands: ran, started: failed === null };
  if (json) io.out(`${JSON.stringify(done, null, 2)}\n`);
  else {
    io.out(`${isNew ? 'Wrote' : 'Is as it was:'} ${file}\n${ran.map((line) => `Ran ${line}\n`).join('')}`);
    if (failed === null) io.out(`The service runs in ${runsIn}; its settings and data are in ${runsIn}/.svc\n`);
  }
  if (failed === null) io.err(`${manager.remark}\n`);
  for (const remark of notPassedOn(io)) io.err(`${remark}\n`);
  return failed === null ? 0 : 1;
}

/** Settings of this shell, which a person may take for those of the service. */
function notPassedOn({ env }: Io): string[] {
  const names = Object.keys(env).filter((name) =>
    /^SVC_(?!TEST_|FIXTURES)|^(HTTPS?_PROXY|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  return names.length === 0
    ? []
    : [`The service has none of these from your shell: ${names.sort().join(', ')}; see 'svc config set --help'`];
}
