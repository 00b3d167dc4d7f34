/** The set-up of a fault test: the real service with providers that record when each call reached them, in a folder that outlives it. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyServerDatabase, templateFolder } from '../databases.ts';
import { echoEvents, socketProvider } from '../responses-socket.ts';
import { startScriptedProvider } from '../scripted-provider.ts';
import { emptyFolder, removeFolder, type Service, startService } from '../serve.ts';
import { startUpstream } from '../upstream.ts';
import { nameIn } from './load.ts';

export type FaultStand = {
  folder: string;
  /** '': the embedded database. */
  dsn: string;
  provider: string;
  /** When each call, by its name, reached its provider. */
  arrivals(): Map<string, number>;
  start(env?: Record<string, string>): Promise<Service>;
  close(): Promise<void>;
};

export type StandOptions = {
  /** The cluster in which it gets a database of its own; '': the embedded database. */
  cluster: string;
  /** Changes the address by which the service reaches that database. */
  through?: (dsn: string) => string;
  /** The program of the built service; default: the service from its sources. */
  program?: string;
  /** Called with the folder before anything is put into it. */
  prepare?: (folder: string) => Promise<() => Promise<unknown>>;
  env?: Record<string, string>;
  /** Between the pieces of a stream. */
  delayMs?: number;
};

export async function faultStand(options: StandOptions): Promise<FaultStand> {
  const { cluster, through = (dsn) => dsn, program, prepare, env: always = {}, delayMs = 3 } = options;
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0)) await step();
  };
  try {
    const provider = await startScriptedProvider({ delayMs });
    undo.unshift(provider.close);
    const overSockets = new Map<string, number>();
    const sockets = await startUpstream([{ status: 404 }]);
    undo.unshift(sockets.close);
    sockets.onUpgrade(
      socketProvider((socket, request, number) => {
        overSockets.set(String(request.input).split('|')[0] ?? '', Date.now());
        void answerSlowly(echoEvents(request, number), (event) => socket.send(JSON.stringify(event)), delayMs);
      }).answer,
    );
    const folder = await emptyFolder();
    undo.unshift(() => removeFolder(folder));
    const own = cluster === '' ? null : await emptyServerDatabase(cluster);
    if (own) undo.unshift(own.drop);
    await mkdir(join(folder, '.svc'));
    if (prepare) undo.unshift(await prepare(folder));
    if (!own) await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
    return {
      folder,
      dsn: own?.dsn ?? '',
      provider: provider.url,
      arrivals: () => {
        const first = new Map(overSockets);
        for (const { body, at } of provider.requests) {
          const name = nameIn(body);
          if (!first.has(name)) first.set(name, at);
        }
        return first;
      },
      start: (env = {}) =>
        startService(
          folder,
          {
            SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url,
            SVC_PROXY_UPSTREAMS_OPENAI: sockets.url,
            ...(own ? { SVC_STORAGE_POSTGRES_DSN: through(own.dsn) } : {}),
            ...always,
            ...env,
          },
          program === undefined ? undefined : [program],
        ),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function answerSlowly<Event>(events: readonly Event[], send: (event: Event) => void, delayMs: number) {
  for (const event of events) {
    send(event);
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}
