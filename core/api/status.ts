/** GET /v1/admin/status: is anything wrong? What `svc status` prints, for whoever watches from elsewhere. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { DERIVE_VERSION } from '../derive/version.ts';
import { guarded, json, routes } from '../http/routes.ts';
import { Outcome } from '../model/coverage.ts';
import { Status } from '../model/status.ts';

const readStatus = createRoute({
  method: 'get',
  path: '/v1/admin/status',
  operationId: 'readStatus',
  tags: ['operator'],
  summary: 'What stands behind the service, how much it holds, what waits and what was given up',
  responses: { 200: json(Status, 'The status'), ...guarded },
});

export type StatusDeps = {
  execute: Database['execute'];
  version: string;
  /** How the journal of this process does; undefined where it keeps none. */
  journal: () => Status['journal'];
  /** What this process tells of itself; undefined where it has nothing to tell. */
  service: () => Status['service'];
  /** Milliseconds since 1970, as `now` gives them. */
  startedAt: number;
  now: () => number;
};

/** Above that a table is estimated: at 64 MB a count takes some tens of milliseconds. */
const COUNTED_BYTES = 67_108_864;

export const statusApp = ({ execute, version, journal, service, startedAt, now }: StatusDeps) =>
  routes().openapi(readStatus, async (c) => {
    const [{ last_turn_at, ...stored }, { queued, parked, oldest_seconds }, { ever }] = await Promise.all([
      execute('readStatus', { counted_bytes: COUNTED_BYTES }),
      execute('derivePending', {}),
      execute('readCoverage', {}),
    ]);
    const kept = journal();
    const about = service();
    const outcomes = Object.fromEntries(
      Outcome.options.map((name) => [name, total(ever.filter(({ outcome }) => outcome === name))]),
    ) as Record<Outcome, number>;
    return c.json(
      {
        version,
        uptime_seconds: (now() - startedAt) / 1000,
        ...stored,
        derive: { queued, parked, lag_seconds: oldest_seconds, derive_version: DERIVE_VERSION },
        ...(kept === undefined ? {} : { journal: kept }),
        coverage: { requests: total(ever), outcomes },
        ...(last_turn_at === null ? {} : { last_turn_at }),
        ...(about === undefined ? {} : { service: about }),
      },
      200,
    );
  });

const total = (rows: readonly { requests: number }[]) => rows.reduce((sum, { requests }) => sum + requests, 0);
