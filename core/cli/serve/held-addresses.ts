/** Checks that the ports are free before anything is made, so that a start which cannot listen leaves nothing behind. */
import { parseListen } from '../config/listen.ts';
import type { LoadedConfig } from '../config/load.ts';
import { holderOf } from '../db/client/folder-lock.ts';
import { OperatorError } from '../errors.ts';
import { serveApp } from '../http/listen.ts';
import type { ServeRole } from './program.ts';

const LISTENERS = { proxy: 'capture proxy', api: 'read API', ingest: 'ingest API' } as const;
type Name = keyof typeof LISTENERS;

const OF_ROLE: Readonly<Record<ServeRole, readonly Name[]>> = {
  all: ['proxy', 'api', 'ingest'],
  proxy: ['proxy'],
  ingest: ['ingest'],
};

/** Skipped for a folder in use, whose lock gives a better reason than a port. @throws {OperatorError} a port is taken, with a remedy */
export async function refuseTakenPorts({ config, folder }: LoadedConfig, role: ServeRole): Promise<void> {
  if (holderOf(folder) !== null) return;
  for (const name of OF_ROLE[role]) {
    const { listen } = config[name];
    try {
      const probe = await serveApp({ fetch: () => new Response(), ...parseListen(listen), what: LISTENERS[name] });
      await probe.close(0);
    } catch (error) {
      if (!(error instanceof OperatorError) || (error.cause as NodeJS.ErrnoException)?.code !== 'EADDRINUSE')
        throw error;
      throw new OperatorError(`${error.message}; ${remedy(name, listen)}`, 1, { cause: error });
    }
  }
}

/** The remedy for a taken port: another one a thousand above, or for high ports below. */
function remedy(name: Name, listen: string): string {
  const { port } = parseListen(listen);
  const other = `${listen.slice(0, listen.lastIndexOf(':') + 1)}${port > 64_000 ? port - 1_000 : port + 1_000}`;
  return `stop that one ('svc status' tells whether it is svc), or say --${name}-listen ${other}`;
}
