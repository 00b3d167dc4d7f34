/** A process of `svc serve` as its parent sees it: started, started again whenever it ends, and asked to stop. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtEntry } from '../../built-entry.ts';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { ProcessState } from '../../model/status.ts';
import type { FromChild, ListenerName, ProcessName, ToChild } from './messages.ts';
import { restartPolicy } from './restart-policy.ts';
import type { StandIn } from './stand-in.ts';

export type Supervised = {
  /** Starts the first process. */
  run(): void;
  /** Resolves when it listens for the first time. @throws {OperatorError} it cannot, and somebody has to mend something */
  ready: Promise<Partial<Record<ListenerName, string[]>>>;
  /** Dropped while there is no process: each that starts is sent what it needs. */
  send(message: ToChild): void;
  state(): ProcessState;
  /** Has the process close what it listens on, within so many milliseconds; it is not started again. May be called again, for less. */
  stop(graceMs: number): void;
  /** Ends a process that does not end by itself. */
  kill(): void;
  /** Resolves when it was stopped and has ended. */
  ended: Promise<void>;
};

type Options = {
  name: ProcessName;
  /** V8's flags for this process: none is changed while it runs. */
  flags: readonly string[];
  env: Environment;
  /** The bound sockets that the process gets, as descriptors from FIRST_FD on. */
  fds: readonly number[];
  log: Logger;
  /** The first messages to each process that starts. */
  begin(): ToChild[];
  received(message: FromChild): void;
  /** The process has ended, before another one starts. */
  died(): void;
  /** Its state has changed. */
  changed(): void;
  /** How long it waits once it has ended too often; null: it never does. (restart-policy.ts) */
  downMs: number | null;
  /** Answers on its sockets until then, in milliseconds since 1970. Absent: connections wait. */
  standIn?(until: number): StandIn;
  /** It has ended again and again without ever having listened, and is not tried any more. Absent: it is tried for ever. */
  hopeless?(reason: string): void;
};

const HOPELESS_STARTS = 6;

export function superviseProcess(options: Options): Supervised {
  const { name, log, received, changed } = options;
  const policy = restartPolicy(options.downMs);
  const first = deferred<Partial<Record<ListenerName, string[]>>>();
  const last = deferred<void>();
  let child: ChildProcess | null = null;
  let again: NodeJS.Timeout | null = null;
  let standIn: StandIn | null = null; // while it is down
  let stopping = false;
  let wasReady = false; // ever
  let failedStarts = 0; // in a row
  let failure: Extract<FromChild, { kind: 'failed' }> | null = null;
  let state: ProcessState = { name, state: 'starting', since: now(), restarts: 0 };
  const change = (next: Partial<ProcessState>) => {
    state = { ...state, ...next };
    changed();
  };

  const run = () => {
    failure = null;
    failedStarts += 1;
    try {
      child = started(options);
    } catch (error) {
      ended(null, null, `cannot be started: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
      return;
    }
    const { pid } = child;
    change({ state: 'starting', since: now(), ...(pid === undefined ? {} : { pid }) });
    child.on('message', (message: FromChild) => {
      if (message.kind === 'ready') {
        wasReady = true;
        failedStarts = 0;
        policy.ready(performance.now());
        change({ state: 'up', since: now() });
        first.resolve(message.urls);
      } else if (message.kind === 'failed') failure = message;
      else if ('kind' in message) received(message);
      else process.send?.(message); // of Node itself: under `node --watch`, the files that the process has loaded
    });
    child.on('error', (error) => log.error({ process: name, reason: error.message }, 'a process cannot be reached'));
    child.once('close', (code, signal) => ended(code, signal)); // after its last message
    // without a descriptor for the channel there is no `send`: 'error' comes first, and 'close' counts as its end
    for (const message of options.begin()) child.send?.(message, () => {});
  };

  const ended = (code: number | null, signal: NodeJS.Signals | null, cause?: string) => {
    child = null;
    options.died();
    if (stopping) {
      change({ state: 'down', since: now() });
      return last.resolve();
    }
    const reason = failure?.message ?? cause ?? (signal ? `ended by ${signal}` : `ended with status ${code}`);
    if (failure?.operator && !wasReady) return first.reject(new OperatorError(failure.message, failure.exitCode));
    const { delayMs, down } = policy.ended(performance.now());
    const { pid: _, ...rest } = state;
    state = rest;
    change({
      state: down ? 'down' : 'starting',
      since: now(),
      restarts: state.restarts + 1,
      last_end: { at: now(), reason },
    });
    if (failedStarts >= HOPELESS_STARTS && options.hopeless) return options.hopeless(reason);
    if (down) log.fatal({ process: name, reason, again_in_ms: delayMs }, DOWN);
    else log.error({ process: name, reason, again_in_ms: delayMs }, 'a process has ended and is started again');
    if (down) standIn = options.standIn?.(Date.now() + delayMs) ?? null;
    again = setTimeout(() => void takeOver(), delayMs);
  };

  const takeOver = async () => {
    await standIn?.end();
    standIn = null;
    if (!stopping) run();
  };

  return {
    run,
    ready: first.promise,
    send: (message) => {
      if (child?.connected) child.send(message, () => {}); // a failure to send is its end, which is noticed
    },
    state: () => state,
    stop: (graceMs) => {
      stopping = true;
      if (again) clearTimeout(again);
      if (child?.connected) child.send({ kind: 'stop', graceMs } satisfies ToChild, () => {});
      else if (!child) void Promise.resolve(standIn?.end()).then(() => last.resolve());
    },
    kill: () => void child?.kill('SIGKILL'),
    ended: last.promise,
  };
}

const DOWN =
  'the service has ended too often and is tried again in a minute: until then calls pass, and wait in the journal';

type Deferred<T> = { promise: Promise<T>; resolve(value: T): void; reject(error: Error): void };

/** Promise.withResolvers, which Node 20 lacks. */
function deferred<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => {}); // whoever awaits it sees the failure
  if (!settle) throw new Error('Cannot make a promise');
  return { promise, ...settle };
}

const now = () => `${new Date().toISOString().slice(0, 19)}Z`;

function started({ name, flags, env, fds }: Options): ChildProcess {
  const entry = new URL(`./${name}-process`, import.meta.url);
  const file = import.meta.url.endsWith('.ts') ? new URL(`${entry.href}.ts`) : builtEntry(entry);
  return fork(fileURLToPath(file), [], {
    execArgv: [...process.execArgv, ...flags],
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...fds],
  });
}
