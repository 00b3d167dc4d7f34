/** GET /v1/admin/status: what `svc status` prints, for monitoring from elsewhere. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { DERIVE_VERSION } from '../derive/version.ts';
import { guarded, json, routes } from '../http/routes.ts';
import type { PeriodBudget } from '../model/budget-settings.ts';
import { Outcome } from '../model/coverage.ts';
import type { RetentionRules } from '../model/retention.ts';
import { Status } from '../model/status.ts';
import { diskStatus } from './disk-status.ts';
import type { FindCoverage } from './find-coverage.ts';
import { removalsStatus } from './removals-status.ts';

const readStatus = createRoute({
  method: 'get',
  path: '/v1/admin/status',
  operationId: 'readStatus',
  tags: ['operator'],
  summary: 'What the service runs on, how much it holds, what waits and what has failed',
  responses: { 200: json(Status, 'The status'), ...guarded },
});

export type StatusDeps = {
  execute: Database['execute'];
  version: string;
  /** The state of this process's journal; undefined where it has none. */
  journal: () => Status['journal'];
  /** What has been published; undefined: nothing is to be. */
  publisher: () => Status['publisher'];
  findCoverage: () => Promise<FindCoverage>;
  /** Left on the disk of the database; undefined: it is another machine's. */
  freeBytes: () => Promise<number | undefined>;
  /** What this process reports about itself; undefined: nothing. */
  service: () => Status['service'];
  /** Null: nothing is removed by itself. */
  retention: RetentionRules | null;
  budgets: readonly PeriodBudget[];
  /** Milliseconds since 1970, as `now` returns them. */
  startedAt: number;
  now: () => number;
};

/** A larger table is estimated: at 64 MB a count takes some tens of milliseconds. */
const COUNTED_BYTES = 67_108_864;

export const statusApp = ({
  execute,
  version,
  journal,
  publisher,
  findCoverage,
  freeBytes,
  service,
  retention,
  budgets,
  startedAt,
  now,
}: StatusDeps) =>
  routes().openapi(readStatus, async (c) => {
    const [
      { last_turn_at, ...stored },
      { queued, parked, oldest_seconds },
      { ever },
      { sizes, walBytes },
      free,
      removals,
      budgetStates,
      find,
    ] = await Promise.all([
      execute('readStatus', { counted_bytes: COUNTED_BYTES }),
      execute('derivePending', {}),
      execute('readCoverage', {}),
      execute('databaseSizes', {}),
      freeBytes(),
      removalsStatus(execute, retention, now()),
      budgets.length === 0 ? undefined : execute('budgetStates', { budgets: [...budgets] }),
      findCoverage(),
    ]);
    const journalStatus = journal();
    const serviceStatus = service();
    const publisherState = publisher();
    const outcomes = Object.fromEntries(
      Outcome.options.map((name) => [name, total(ever.filter(({ outcome }) => outcome === name))]),
    ) as Record<Outcome, number>;
    return c.json(
      {
        version,
        uptime_seconds: (now() - startedAt) / 1000,
        ...stored,
        derive: { queued, parked, lag_seconds: oldest_seconds, derive_version: DERIVE_VERSION },
        find,
        disk: diskStatus({
          ...{ now: now(), databaseBytes: stored.database.bytes, logBytes: walBytes + (journalStatus?.bytes ?? 0) },
          ...{ freeBytes: free, sizes },
        }),
        ...removals,
        ...(budgetStates && { budgets: budgetStates }),
        ...(journalStatus === undefined ? {} : { journal: journalStatus }),
        ...(publisherState === undefined ? {} : { publisher: publisherState }),
        coverage: { requests: total(ever), outcomes },
        ...(last_turn_at === null ? {} : { last_turn_at }),
        ...(serviceStatus === undefined ? {} : { service: serviceStatus }),
      },
      200,
    );
  });

const total = (rows: readonly { requests: number }[]) => rows.reduce((sum, { requests }) => sum + requests, 0);
