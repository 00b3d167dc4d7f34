/** One life of the process that built-in cassettes share: it has two channels for each, and all rights of the service, but not its environment. */
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../log.ts';
import { packageRoot } from '../../package-root.ts';
import { SERVICE_FLAGS } from '../../service-flags.ts';
import { lowerPriority } from '../../yield-to-listeners.ts';
import type { Progress } from '../contract.ts';
import type { Bindings, StartModule } from '../running.ts';
import { openBridge } from './bridge.ts';
import { type CassetteChannel, openChannel } from './channel.ts';
import { BELOW_SERVICE } from './confinement.ts';
import { CLOSED_MS, reasonOf } from './life.ts';
import { OUTPUT_LIMITS, openGate, readOutput } from './output.ts';
import { spawnChild } from './spawn-child.ts';

/** A cassette in the shared process. `bindings` is called whenever the process starts. */
export type Member = Pick<StartModule, 'name' | 'entry' | 'log'> & {
  bindings(): Bindings | Promise<Bindings>;
  progressed(progress: Progress): void;
};

export type SharedLife = {
  pid: number;
  channels: ReadonlyMap<Member, CassetteChannel>;
  /** Settles when it has ended, with the reason, as the end of a sentence that begins with 'it'. */
  ended: Promise<string>;
  end(reason: string): void;
};

type Options = { log: Logger; environment: Readonly<Record<string, string | undefined>>; loadMs: number };

const MEMORY_MB = 1024;
/** Variables of the environment that cassettes need to reach other machines; no settings and no secrets of ours. */
const PASSED_ENVIRONMENT =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_ALL|(?:https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_(?:FILE|DIR))$/i;
const FROM_SOURCE = import.meta.url.endsWith('.ts');

/** @throws {Error} it does not start, or one of them does not load */
export async function startSharedLife(members: readonly Member[], options: Options): Promise<SharedLife> {
  const { log, environment, loadMs } = options;
  const [file = '', ...args] = commandFor(members.map(({ entry }) => entry));
  const child = await spawnChild(file, args, {
    env: Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED_ENVIRONMENT.test(name))),
    stdio: ['ignore', 'pipe', 'pipe', ...members.flatMap(() => ['pipe', 'pipe'] as const)],
  }).catch((error: Error) => {
    throw new Error(`it cannot be started: ${error.message}`);
  });
  if (child.pid !== undefined) lowerPriority(child.pid, BELOW_SERVICE);
  let why: string | undefined;
  const end = (reason: string) => {
    why ??= reason;
    child.kill('SIGKILL');
  };
  const sockets = child.stdio.slice(3).filter((stream) => stream instanceof Socket);
  const gate = openGate(log, OUTPUT_LIMITS);
  const [out, err] = ([child.stdout, child.stderr] as const).map((stream, i) =>
    readOutput(stream ?? Readable.from([]), {
      ...{ gate, limits: OUTPUT_LIMITS },
      log: (line) => (i === 0 ? log.info({ output: 'stdout' }, line) : log.warn({ output: 'stderr' }, line)),
    }),
  );
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      out?.hurry();
      err?.hurry();
      for (const socket of sockets) socket.destroy();
      resolve(why ?? reasonOf(code, signal, err?.tail() ?? ''));
      gate.close();
    });
  });
  const channels = new Map<Member, CassetteChannel>();
  const starts = members.map((member, i) => {
    const [requests, bindings] = sockets.slice(2 * i);
    if (!requests || !bindings) throw new Error('its channels could not be opened');
    for (const socket of [requests, bindings]) {
      socket.on('error', () => {});
      socket.once('close', () => setTimeout(end, CLOSED_MS, 'it closed a channel to the service').unref());
    }
    const channel = openChannel(requests, { name: member.name, ended: () => ended });
    channels.set(member, channel);
    const setBindings = openBridge(bindings, { gate, progressed: member.progressed });
    return async () => {
      const { failure } = (await channel.hello()) as { failure?: unknown };
      if (failure !== undefined) throw new Error(`"${member.name}": ${failure}`);
      const bindings = await member.bindings();
      setBindings(bindings);
      await channel.bind({ config: bindings.CONFIG, db: bindings.DB !== null, core: bindings.CORE !== null });
    };
  });
  const timeout = setTimeout(end, loadMs, `it has not loaded within ${loadMs / 1000} s`);
  try {
    await Promise.all(starts.map((hand) => hand()));
  } catch (error) {
    end('it could not be made ready');
    throw new Error(error instanceof Error && why === 'it could not be made ready' ? error.message : await ended);
  } finally {
    clearTimeout(timeout);
  }
  return { pid: child.pid ?? 0, channels, ended, end };
}

/** Node and the script; from source also what compiles TypeScript. With `setpriv`, where there is one, it dies with the service. */
function commandFor(entries: readonly string[]): string[] {
  const run = FROM_SOURCE ? [join(packageRoot(), 'core/worker-bootstrap.mjs'), SCRIPT.href] : [fileURLToPath(SCRIPT)];
  const node = [
    process.execPath,
    ...SERVICE_FLAGS,
    `--max-old-space-size=${MEMORY_MB}`,
    ...run,
    JSON.stringify(entries),
  ];
  return existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', ...node] : node;
}

const SCRIPT = new URL('child/shared.mjs', import.meta.url);
const SETPRIV = '/usr/bin/setpriv';
