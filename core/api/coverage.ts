/** GET /v1/coverage: how many requests to the proxy were captured, and why the others were not. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database, OperationResult } from '../db/database.ts';
import { guardedRead, json, routes } from '../http/routes.ts';
import { Outcome } from '../model/coverage.ts';

const Counts = z.object(
  Object.fromEntries(Outcome.options.map((outcome) => [outcome, z.int()])) as Record<Outcome, z.ZodInt>,
);
const Ledger = z.object({ requests: z.int(), outcomes: Counts });
const NONE = Object.fromEntries(Outcome.options.map((outcome) => [outcome, 0])) as Record<Outcome, number>;

const Coverage = Ledger.extend({
  by_provider: z.record(z.string(), Ledger),
  by_day: z
    .array(z.object({ day: z.iso.date(), requests: z.int(), outcomes: Counts }))
    .describe('the newest thirty days on which anything came in, UTC, the newest first'),
}).openapi('Coverage', {
  examples: [
    {
      requests: 12,
      outcomes: { ...NONE, captured: 9, not_a_turn: 3 },
      by_provider: { anthropic: { requests: 12, outcomes: { ...NONE, captured: 9, not_a_turn: 3 } } },
      by_day: [{ day: '2026-07-27', requests: 12, outcomes: { ...NONE, captured: 9, not_a_turn: 3 } }],
    },
  ],
});

export type CoverageReport = z.infer<typeof Coverage>;

const readCoverage = createRoute({
  method: 'get',
  path: '/v1/coverage',
  operationId: 'readCoverage',
  tags: ['service'],
  summary: 'How the requests ended that came to the proxy: one outcome for each',
  responses: { 200: json(Coverage, 'Counts, every outcome named'), ...guardedRead },
});

export const coverageApp = ({ execute }: { execute: Database['execute'] }) =>
  routes().openapi(readCoverage, async (c) => {
    const { ever, days } = await execute('readCoverage', {});
    const by_provider = Object.fromEntries(
      grouped(ever, ({ provider }) => provider).map(([name, rows]) => [name, ledger(rows)]),
    );
    const by_day = grouped(days, ({ day }) => day).map(([day, rows]) => ({ day, ...ledger(rows) }));
    return c.json({ ...ledger(ever), by_provider, by_day }, 200);
  });

type CoverageRow = OperationResult<'readCoverage'>['ever'][number];

const ledger = (rows: readonly CoverageRow[]) => {
  const outcomes = { ...NONE };
  for (const { outcome, requests } of rows) {
    const { success, data } = Outcome.safeParse(outcome);
    if (success) outcomes[data] += requests;
  }
  return { requests: rows.reduce((sum, { requests }) => sum + requests, 0), outcomes };
};

const grouped = <Row>(rows: readonly Row[], by: (row: Row) => string): [string, Row[]][] => {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(by(row), [...(groups.get(by(row)) ?? []), row]);
  return [...groups];
};
