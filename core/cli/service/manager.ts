/** The service manager of this machine's user: systemd or launchd, with the file that it reads and the commands that it takes. */
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { isCommand } from '../start/find-command.ts';
import type { ServiceDefinition } from './definition.ts';
import { LABEL, launchdPlist } from './launchd-plist.ts';
import type { Command } from './run-command.ts';
import { systemdUnit } from './systemd-unit.ts';

export type ServiceState = { running: boolean; pid: number | null; state: string };

export type Manager = {
  name: 'systemd' | 'launchd';
  /** The file that defines the service. */
  file: string;
  text(definition: ServiceDefinition): string;
  /** In order; where `isOptional`, its failure means that there was nothing to do. @param isNew the file was written or has changed */
  install(isNew: boolean): Step[];
  /** Before the file is removed, which stays where one of these fails. */
  uninstall: Step[];
  /** After the file was removed. */
  forget: Step[];
  state: Command;
  /** Reads what `state` has printed. */
  stateOf(printed: string): ServiceState;
  logs(lines: number, follow: boolean): Command;
  /** What a person may want to know after the installation. */
  remark: string;
};
export type Step = {
  command: Command;
  isOptional?: true;
  /** Runs after it until it fails: what the command ended is gone then. After so many milliseconds it is waited for no longer. */
  until?: { fails: Command; mostMs: number };
  /** Where it fails with this status it is run again, for so many milliseconds. */
  retry?: { status: number; mostMs: number };
};

export type Machine = Pick<Io, 'env' | 'cwd' | 'home'> & { platform?: NodeJS.Platform; uid?: number };

const UNIT = 'svc.service';

/** @throws {OperatorError} there is neither */
export function managerOf(machine: Machine): Manager {
  const { env, cwd, home, platform = process.platform } = machine;
  if (home === '') throw new OperatorError('Cannot find a service of yours: this user has no home folder');
  if (platform === 'darwin' && isCommand('launchctl', env, cwd)) return launchd(machine);
  if (platform === 'linux' && isCommand('systemctl', env, cwd)) return systemd(machine);
  throw new OperatorError(
    "Cannot find a service manager: neither systemd's systemctl nor launchd's launchctl is here; let what starts your programs run 'svc serve'",
  );
}

function systemd({ env, home }: Machine): Manager {
  const config = env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : join(home, '.config');
  const systemctl = (...args: string[]): Command => ['systemctl', '--user', ...args];
  return {
    name: 'systemd',
    file: join(config, 'systemd/user', UNIT),
    text: systemdUnit,
    install: (isNew) => [
      { command: systemctl('daemon-reload') },
      { command: systemctl('enable', UNIT) },
      { command: systemctl(isNew ? 'restart' : 'start', UNIT) }, // 'restart' starts what does not run
    ],
    uninstall: [{ command: systemctl('disable', '--now', UNIT) }], // succeeds too where it is not enabled, or does not run
    forget: [{ command: systemctl('daemon-reload') }],
    state: systemctl('show', UNIT, '--property=ActiveState,SubState,MainPID,StatusText'),
    stateOf: (printed) => {
      const shown = new Map(
        printed.split('\n').map((line): [string, string] => {
          const at = line.indexOf('=');
          return [line.slice(0, at), line.slice(at + 1)];
        }),
      );
      const [active = 'unknown', status] = [shown.get('ActiveState'), shown.get('StatusText')];
      const pid = Number(shown.get('MainPID'));
      return {
        running: active === 'active',
        pid: pid > 0 ? pid : null,
        state: status ? `${active}: ${status}` : active,
      };
    },
    logs: (lines, follow) => [
      ...(['journalctl', '--user', `--unit=${UNIT}`, '--output=cat', `--lines=${lines}`] as const),
      ...(follow ? ['--follow'] : ['--no-pager']),
    ],
    remark: "It ends when you log out. To have it run from the machine's start on: loginctl enable-linger",
  };
}

function launchd({ home, uid = process.getuid?.() ?? 0 }: Machine): Manager {
  const file = join(home, 'Library/LaunchAgents', `${LABEL}.plist`);
  const logFile = join(home, 'Library/Logs/svc.log');
  const domain = `gui/${uid}`;
  const print: Command = ['launchctl', 'print', `${domain}/${LABEL}`];
  const bootout: Step = { command: ['launchctl', 'bootout', `${domain}/${LABEL}`], isOptional: true };
  const bootstrap: Command = ['launchctl', 'bootstrap', domain, file];
  return {
    name: 'launchd',
    file,
    text: (definition) => launchdPlist(definition, logFile),
    install: (isNew) => [
      // 'bootout' does not wait for the end of svc, which takes up to 40 s; until then a 'bootstrap' fails with status 5
      ...(isNew ? [{ ...bootout, until: { fails: print, mostMs: 45_000 } }] : []),
      { command: ['launchctl', 'enable', `${domain}/${LABEL}`] },
      // what is loaded already is refused, as it was
      { command: bootstrap, ...(isNew ? { retry: { status: 5, mostMs: 15_000 } } : { isOptional: true }) },
    ],
    uninstall: [bootout],
    forget: [],
    state: print,
    stateOf: (printed) => {
      const state = /(?:^|\n)[ \t]{0,8}state = ([^\n]+)/.exec(printed)?.[1] ?? 'not loaded';
      const pid = /(?:^|\n)[ \t]{0,8}pid = (\d+)/.exec(printed)?.[1];
      return { running: state === 'running', pid: pid ? Number(pid) : null, state };
    },
    logs: (lines, follow) => ['tail', '-n', String(lines), ...(follow ? ['-F'] : []), logFile],
    remark: 'It runs while you are logged in.',
  };
}
