/**
 * What systemd is notified of, where it has started this process as `Type=notify`: that the service is ready, its state in a line, that
 * it stops, and that it is well, at half the period of the unit's watchdog. Node has no datagram sockets of the file system, so
 * `systemd-notify` sends it, one after the other: it returns when systemd has read the message, so that none is lost with its sender.
 */
import { execFile } from 'node:child_process';
import type { Environment } from '../../config/environment.ts';
import type { Logger } from '../../log.ts';

export type ServiceManager = {
  /** Everything listens. @param status one line */
  ready(status: string): void;
  /** The state has changed. @param status one line */
  status(status: string): void;
  stopping(): void;
  /** Settles once all was sent; nothing is from then on. */
  close(): Promise<void>;
};

const SEND_MS = 5_000; // systemd-notify waits for systemd, which may be busy
const NOBODY: ServiceManager = { ready: () => {}, status: () => {}, stopping: () => {}, close: async () => {} };

type Options = {
  env: Environment;
  log: Logger;
  /** The process that the unit's watchdog is for. */
  pid: number;
  /** Asked before each sign of life. Absent: while this process runs its timers, all is well. */
  isWell?: () => boolean;
};

export function openServiceManager({ env, log, pid, isWell = () => true }: Options): ServiceManager {
  const { NOTIFY_SOCKET, PATH } = env;
  if (!NOTIFY_SOCKET) return NOBODY;
  let failed = false;
  let shown = '';
  let closed = false;
  let sent = Promise.resolve();
  const send = (...assignments: string[]) => {
    if (closed) return;
    sent = sent.then(
      () =>
        new Promise((done) => {
          const options = { env: { PATH, NOTIFY_SOCKET }, timeout: SEND_MS, killSignal: 'SIGKILL' } as const;
          execFile('systemd-notify', assignments, options, (error) => {
            if (error && !failed) log.warn({ reason: error.code ?? error.signal }, 'Cannot notify systemd');
            failed = error !== null;
            done();
          });
        }),
    );
  };
  const status = (text: string) => {
    if (text !== shown) send(`STATUS=${text}`);
    shown = text;
  };
  const halfMs = watchdogMs(env, pid) / 2;
  const signs = halfMs > 0 ? setInterval(() => isWell() && send('WATCHDOG=1'), halfMs).unref() : undefined;
  return {
    ready: (text) => {
      send('READY=1', `STATUS=${text}`);
      shown = text;
    },
    status,
    stopping: () => send('STOPPING=1', 'STATUS=stopping: what is under way may finish'),
    close: () => {
      clearInterval(signs);
      closed = true;
      return sent;
    },
  };
}

/** The period of the unit's watchdog; 0: it has none, or it is another process's. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: Environment, pid: number): number {
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== '' && Number(WATCHDOG_PID) !== pid) return 0;
  const ms = Number(WATCHDOG_USEC ?? 0) / 1_000;
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}

/** The environment of the processes that this one starts: what they did would count as its own word. */
export function withoutServiceManager(env: Environment): Environment {
  const { NOTIFY_SOCKET: _, WATCHDOG_USEC: __, WATCHDOG_PID: ___, ...rest } = env;
  return rest;
}
