/** What stands behind `svc serve proxy`? What passes calls and keeps them, and nothing that waits for the database, which may be away. */
import { setFlagsFromString } from 'node:v8';
import type { LoadedConfig } from '../config/load.ts';
import type { Logger } from '../log.ts';
import { openIdentityKey } from './identity-key.ts';
import { internalOf } from './internal-listen.ts';
import { type Backing, exposition, hostsOf, type Keep, type Process, together } from './listening.ts';
import { openProxy } from './proxy-listener.ts';

const ASK_TIMEOUT_MS = 60_000;

/** Needs `storage.postgres_dsn`, and not that anybody answers there. */
export async function proxyAlone({ config, folder }: LoadedConfig, log: Logger): Promise<Backing> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  keepYoungSmall();
  const identity = await openIdentityKey(folder, log);
  return {
    connection: () => ({ kind: 'server', dsn, pooled, askTimeoutMs: ASK_TIMEOUT_MS }),
    reach: true,
    begun: keepYoungSmall,
    identified: identity.learn,
    listen: (parts) =>
      together(async (kept) => {
        const { journal } = parts;
        if (!journal) throw new Error('Cannot pass calls: this process keeps no journal');
        await identity.known;
        const internal = await openInternal(parts, kept);
        const proxy = await openProxy({ ...parts, journal, identityKey: identity.current }, hostsOf(config, ['proxy']));
        return { proxy: kept(proxy).addresses, internal, api: [], ingest: [] };
      }),
  };
}

/**
 * Keeps V8's young generation at the few megabytes that it has by now; left alone it takes 32, for nothing that a proxy would notice.
 * A thread that starts takes this back, so it is said again whenever the engine's has begun.
 */
const keepYoungSmall = () => setFlagsFromString('--semi-space-growth-factor=1');

/** How the process does. No path of the proxy's own listener is ours: any may be an upstream's. Loaded only where it is asked for. */
async function openInternal(parts: Process, kept: Keep): Promise<string[]> {
  const { config, env, log } = parts;
  const internal = internalOf(env);
  if (!internal) return [];
  const [{ internalApi }, { serveApp }] = await Promise.all([
    import('../api/internal.ts'),
    import('../http/listen.ts'),
  ]);
  const allowedHosts = [...config.allowed_hosts, ...internal.at.hosts];
  const { fetch } = internalApi({ metrics: () => exposition(parts), token: internal.token, allowedHosts, log });
  return kept(await serveApp({ fetch, ...internal.at, what: 'internal listener' })).addresses;
}
