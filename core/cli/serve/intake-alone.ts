/** The backing of `svc serve proxy`: takes the journal into a database that others read. It does not wait for that, which may be away. */
import type { LoadedConfig } from '../../config/load.ts';
import { internalOf } from './internal-listen.ts';
import { type Backing, exposition, type Keep, type Process, together } from './listening.ts';

const QUERY_TIMEOUT_MS = 60_000;

/** Needs `storage.postgres_dsn` to be set, but not the database to be up. */
export function intakeAlone({ config }: LoadedConfig): Backing {
  const { postgres_dsn: dsn, pooled } = config.storage;
  return {
    connection: () => ({ kind: 'server', dsn, pooled, statementTimeoutMs: QUERY_TIMEOUT_MS }),
    reach: true,
    listen: (parts) =>
      together(async (register) => ({ proxy: [], api: [], ingest: [], internal: await openInternal(parts, register) })),
  };
}

/** Health and metrics: the proxy's own listener has no path to spare, since any may be an upstream's. Loaded only if configured. */
async function openInternal(parts: Process, register: Keep): Promise<string[]> {
  const { config, env, log, addresses } = parts;
  const internal = internalOf(env);
  if (!internal) return [];
  const [{ internalApi }, { serveApp }] = await Promise.all([
    import('../../api/internal.ts'),
    import('../../http/listen.ts'),
  ]);
  const allowedHosts = [...config.allowed_hosts, ...internal.at.hosts];
  const { fetch } = internalApi({ metrics: () => exposition(parts), token: internal.token, allowedHosts, log });
  const at = addresses.internal?.at ?? internal.at;
  return register(await serveApp({ fetch, ...at, what: 'internal listener' })).addresses;
}
