/**
 * The stand-in of a service that is down for a while: a small process on the same sockets, so that clients learn at once that there is no
 * service. A process, since a socket that Node has accepted from cannot be given up again without closing it: this one closes its copy, and
 * the parent's stays, with the connections that wait in its queue for the service.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtEntry } from '../../built-entry.ts';
import type { Environment } from '../../config/environment.ts';
import { FIRST_FD } from './messages.ts';

/** What the process is sent. `why`: as 'the service is down'. `until`: in milliseconds since 1970, when the service is tried again. */
export type ServiceOutage = { fds: { fd: number; isIngest: boolean }[]; why: string; until: number };

export type StandIn = {
  /** Resolves when it accepts nothing more and what it had accepted was answered: some milliseconds, at most two seconds. */
  end(): Promise<void>;
};

type Options = Pick<ServiceOutage, 'why' | 'until'> & {
  /** Bound sockets of this process. */
  sockets: readonly { fd: number; isIngest: boolean }[];
  env: Environment;
  /** Flags of Node for it; without them those of this process. */
  execArgv?: readonly string[];
};

const END_MS = 2_000;

/** Where it cannot be started, connections wait for the service. */
export function startStandIn({ why, until, sockets, env, execArgv = process.execArgv }: Options): StandIn {
  const entry = new URL('./down-process', import.meta.url);
  const file = import.meta.url.endsWith('.ts') ? new URL(`${entry.href}.ts`) : builtEntry(entry);
  try {
    const child = fork(fileURLToPath(file), [], {
      execArgv: [...execArgv],
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...sockets.map(({ fd }) => fd)],
    });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
    const fds = sockets.map(({ isIngest }, i) => ({ fd: FIRST_FD + i, isIngest }));
    child.send({ fds, why, until } satisfies ServiceOutage, () => {});
    return {
      end: async () => {
        if (child.connected) child.send('end', () => {});
        const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
        await ended;
        clearTimeout(late);
      },
    };
  } catch {
    return { end: async () => {} };
  }
}
