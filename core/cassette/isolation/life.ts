/** One life of a cassette's process: its start in confinement, the requests to it, and the reason for which it ended. */
import type { ChildProcess } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { lowerPriority } from '../../yield-to-listeners.ts';
import { SERVICE_FOLDER } from '../admission/digest.ts';
import type { Log, Progress } from '../contract.ts';
import type { Bindings, LoadedModule } from '../running.ts';
import { openBridge } from './bridge.ts';
import { type CassetteChannel, openChannel } from './channel.ts';
import { CHANNEL_BROKE, UNCAUGHT, UNHANDLED, WITHOUT_NETWORK } from './child/limits.mjs';
import { BELOW_SERVICE, commandFor, type SystemSupport } from './confinement.ts';
import { type Gate, OUTPUT_LIMITS, readOutput } from './output.ts';
import { privateFolder } from './private-folder.ts';
import { spawnChild } from './spawn-child.ts';

export type Life = {
  channel: CassetteChannel;
  bind(bindings: Bindings): Promise<void>;
  /** Settles when it has ended and is cleaned up, with the reason, as the end of a sentence that begins with its name. */
  ended: Promise<string>;
  /** The last line of its error output. */
  lastOutput(): string;
  /** Kills it now, for this reason. */
  end(reason: string): void;
};

type Options = {
  name: string;
  /** With all symbolic links resolved, as the process will see them. */
  folder: string;
  entry: string;
  /** The folder that holds child/main.mjs. */
  runner: string;
  /** What else it may read; both names where a link leads to it. */
  beside: readonly string[];
  tmp: string;
  ground: SystemSupport;
  network: boolean;
  memory_mb: number;
  log: Log;
  gate: Gate;
  progressed(progress: Progress): void;
};

/** Without paths that lie in another one, which is readable with all that is in it. */
const outermost = (paths: readonly string[]) =>
  paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/`)));

/** Left empty by the process: it was a mount point in a namespace of its own. What cannot be removed is removed when the service starts. */
const removeRoot = (root: string): Promise<void> => rm(root, { recursive: true, force: true }).catch(() => {});

/**
 * The folder; or, where the service's own `.svc` is in it, all entries but that one, since permissions of Node allow and never except.
 * @throws {Error} an entry's name would be read as a pattern
 */
async function readableIn(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  if (!names.includes(SERVICE_FOLDER)) return [folder];
  const others = names.filter((name) => name !== SERVICE_FOLDER);
  const pattern = others.find((name) => /[*,]/.test(name));
  if (pattern !== undefined || others.length > MOST_ENTRIES)
    throw new Error(
      `it cannot be kept from '${join(folder, SERVICE_FOLDER)}', the service's own folder, beside ${
        pattern === undefined ? `${others.length} others` : `'${pattern}'`
      }; move the cassette into a folder of its own`,
    );
  return others.map((name) => join(folder, name));
}

/** Each is a mount, and an argument. */
const MOST_ENTRIES = 200;

/** Starts the process. It has loaded nothing yet: `channel.hello()` settles when it has. @throws {Error} it cannot be started */
export async function startLife({ name, entry, log, gate, progressed, tmp, ...rest }: Options): Promise<Life> {
  const own = await readableIn(rest.folder);
  const root = await privateFolder(tmp, 'root-');
  const command = commandFor({
    ...rest,
    ...rest.ground,
    root,
    readable: outermost([...own, rest.runner, ...rest.beside]),
    run: [join(rest.runner, 'main.mjs'), entry, ...(rest.network ? [] : [WITHOUT_NETWORK])],
  });
  const child = await spawnChild(command.file, command.args, {
    cwd: rest.folder,
    env: command.env,
    detached: true, // a process group of its own: a signal that it sends to its group reaches no other process
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  }).catch(async (error: Error) => {
    await removeRoot(root);
    throw new Error(`it cannot be started: ${error.message}`);
  });
  if (rest.ground.wall === 'permissions' && child.pid !== undefined) lowerPriority(child.pid, BELOW_SERVICE); // behind others the command does it

  let why: string | undefined;
  const end = (reason: string) => {
    why ??= reason;
    endGroup(child, 'SIGKILL');
  };
  const [, stdout, stderr, requests, bindings] = child.stdio;
  if (
    !(
      stdout instanceof Readable &&
      stderr instanceof Readable &&
      requests instanceof Socket &&
      bindings instanceof Socket
    )
  ) {
    throw new Error('Cannot start a process of a cassette: its channels could not be opened');
  }
  const printed = { gate, limits: OUTPUT_LIMITS };
  const out = readOutput(stdout, { ...printed, log: (line) => log.info({ output: 'stdout' }, line) });
  const err = readOutput(stderr, { ...printed, log: (line) => log.warn({ output: 'stderr' }, line) });
  const channel = openChannel(requests, { name, ended: () => ended });
  const setBindings = openBridge(bindings, { gate, progressed });
  for (const socket of [requests, bindings]) {
    socket.on('error', () => {});
    socket.once('close', () => setTimeout(end, CLOSED_MS, 'it closed its channel to the service').unref());
  }

  const ended = new Promise<string>((resolve) => {
    child.once('exit', () => {
      out.hurry();
      err.hurry();
      // A channel that broke on invalid data does not notice that its other end went; other channels are read to their end by then.
      setTimeout(() => {
        channel.close();
        for (const socket of [requests, bindings]) socket.destroy();
      }, LAST_OUTPUT_MS);
    });
    child.once('close', (code, signal) => resolve(why ?? reasonOf(code, signal, err.tail())));
  }).then(async (reason) => {
    why ??= reason;
    await removeRoot(root);
    return reason;
  });
  return {
    channel,
    async bind(bindings) {
      setBindings(bindings);
      await channel.bind({ config: bindings.CONFIG, db: bindings.DB !== null, core: bindings.CORE !== null });
    },
    ended,
    end,
    lastOutput: () => lastLineOf(err.tail()),
  };
}

/** Where V8 has given up, the lines after its message are addresses in Node. */
const NATIVE_TRACE = /^\s*(?:\d+: 0x[\da-f]+|-{3,}|$)/i;

const lastLineOf = (tail: string): string =>
  tail
    .split('\n')
    .findLast((line) => !NATIVE_TRACE.test(line))
    ?.trim()
    .slice(0, 300) ?? '';

/** How long its last output is read after it ended. */
const LAST_OUTPUT_MS = 50;

/** How long a process that ends by itself may take to exit after its channel closed. */
export const CLOSED_MS = 1_000;

/** Signals a process that leads a group of its own, and what it has started. */
export function endGroup({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, signal);
  } catch {} // it has ended meanwhile
}

const ENDINGS: Record<number, string> = {
  [UNCAUGHT]: 'it ended by an exception that nothing caught; the log has it',
  [UNHANDLED]: 'it ended by a rejection that nothing handled; the log has it',
  [CHANNEL_BROKE]: 'it ended since its channel to the service broke',
};

export function reasonOf(code: number | null, signal: NodeJS.Signals | null, tail: string): string {
  if (/heap out of memory|OutOfMemory|Allocation failed|bad_alloc/i.test(tail)) return 'it ran out of memory';
  if (signal !== null) return `it was ended by ${signal}`;
  return ENDINGS[code ?? 0] ?? `it ended with code ${code}`;
}

/** What the module declares about itself, once it has loaded. @throws {Error} why it has not */
export async function loadedBy(life: Life, ms: number): Promise<LoadedModule> {
  const timeout = setTimeout(() => life.end(`it has not loaded within ${ms / 1000} s`), ms);
  try {
    const reply = await life.channel.hello();
    const { failure, loaded } = reply as { failure?: unknown; loaded?: LoadedModule };
    if (typeof failure === 'string') throw new Error(failure);
    if (typeof loaded !== 'object' || loaded === null) throw new Error('it says nothing of itself');
    const { manifest, migrations, scheduled } = loaded;
    return { manifest, migrations, scheduled: scheduled === true };
  } catch (error) {
    const isReported = error instanceof Error && error.name === 'Error';
    if (isReported) life.end(error.message);
    else setTimeout(life.end, CLOSED_MS, 'it said nothing that can be read').unref(); // unless it has ended by itself
    const reason = await life.ended;
    const output = life.lastOutput();
    throw new Error(isReported || output === '' ? reason : `${reason} (${output})`, { cause: error });
  } finally {
    clearTimeout(timeout);
  }
}
