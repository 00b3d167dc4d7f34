/** The backing of `svc serve proxy`: forwards calls and writes them to the journal. Nothing in it waits for the database, which may be away. */
import type { LoadedConfig } from '../config/load.ts';
import type { Logger } from '../log.ts';
import { openIdentityKey } from './identity-key.ts';
import { internalOf } from './internal-listen.ts';
import { type Backing, exposition, hostsOf, type Keep, type Process, together } from './listening.ts';
import { openProxy } from './proxy-listener.ts';

const QUERY_TIMEOUT_MS = 60_000;

/** Needs `storage.postgres_dsn` to be set, but not the database to be up. */
export async function proxyAlone({ config, folder }: LoadedConfig, log: Logger): Promise<Backing> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const identity = await openIdentityKey(folder, log);
  return {
    connection: () => ({ kind: 'server', dsn, pooled, statementTimeoutMs: QUERY_TIMEOUT_MS }),
    reach: true,
    identified: identity.learn,
    listen: (parts) =>
      together(async (register) => {
        const { journal } = parts;
        if (!journal) throw new Error('Cannot pass calls: this process keeps no journal');
        await identity.known;
        const internal = await openInternal(parts, register);
        const proxy = await openProxy({ ...parts, journal, identityKey: identity.current }, hostsOf(config, ['proxy']));
        return { proxy: register(proxy).addresses, internal, api: [], ingest: [] };
      }),
  };
}

/** Health and metrics of the process: the proxy's own listener has no path to spare, since any may be an upstream's. Loaded only if configured. */
async function openInternal(parts: Process, register: Keep): Promise<string[]> {
  const { config, env, log } = parts;
  const internal = internalOf(env);
  if (!internal) return [];
  const [{ internalApi }, { serveApp }] = await Promise.all([
    import('../api/internal.ts'),
    import('../http/listen.ts'),
  ]);
  const allowedHosts = [...config.allowed_hosts, ...internal.at.hosts];
  const { fetch } = internalApi({ metrics: () => exposition(parts), token: internal.token, allowedHosts, log });
  return register(await serveApp({ fetch, ...internal.at, what: 'internal listener' })).addresses;
}
