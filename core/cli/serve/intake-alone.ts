/** The backing of `svc serve proxy`: takes the journal into a database that others read. It does not wait for that, which may be away. */
import { type Backing, together } from './listening.ts';
import { POOL_SIZES } from './pool-sizes.ts';
import type { ServiceParts } from './service-parts.ts';

const QUERY_TIMEOUT_MS = 60_000;

/** Needs `storage.postgres_dsn` to be set, but not the database to be up. */
export function intakeAlone({ loaded: { config } }: Pick<ServiceParts, 'loaded'>): Backing {
  const { postgres_dsn: dsn, pooled, distributed, partitioned } = config.storage;
  return {
    connection: () => ({
      ...{ kind: 'server', dsn, pooled, distributed, partitioned },
      ...{ statementTimeoutMs: QUERY_TIMEOUT_MS, size: POOL_SIZES.proxy.engine },
    }),
    reach: true,
    listen: (parts) =>
      together(async (register) => {
        // The proxy's own listener has no path to spare for health and metrics, since any may be an upstream's.
        const internal = parts.env.SVC_INTERNAL_LISTEN
          ? await (await import('./internal-listener.ts')).openInternal(parts, register)
          : [];
        return { proxy: [], api: [], ingest: [], internal };
      }),
  };
}
