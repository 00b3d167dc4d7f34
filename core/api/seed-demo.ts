/** POST /v1/admin/seed/demo: stores demo sessions for somebody who has none yet. */
import { setTimeout } from 'node:timers/promises';
import { createRoute } from '@hono/zod-openapi';
import { DatabaseError, Refusal } from '../errors.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { Seeded, SeedRequest } from '../model/demo.ts';
import type { IngestVerdict } from '../model/ingest.ts';

export type SeedDemo = {
  /** Appends a body as the ingest listener does; takes over the bytes' memory. */
  append: (body: Uint8Array<ArrayBuffer>) => Promise<IngestVerdict>;
  /** Whether all of these sessions are derived up to their last turn. */
  derived: (sessionIds: string[]) => Promise<boolean>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long to wait for derivation. */
  waitMs?: number;
};

const seedDemo = createRoute({
  method: 'post',
  path: '/v1/admin/seed/demo',
  operationId: 'seedDemo',
  tags: ['operator'],
  summary: 'Stores the demo sessions; those that are there already stay as they are',
  request: { body: { content: { 'application/json': { schema: SeedRequest } }, required: false } },
  responses: {
    200: json(Seeded, 'The sessions are stored, and can be read'),
    202: json(Seeded, 'They are stored; some are derived a little later'),
    400: json(Failure, 'Bad body, or overwrite', [
      'bad-request',
      'Cannot overwrite the demo sessions: raw turns are append-only; leave "overwrite" out to add what is missing',
    ]),
    413: json(Failure, 'Body too large'),
    415: json(Failure, 'The body is no JSON'),
    ...guarded,
  },
});

const TURNS_AT_ONCE = 16;
const POLL_MS = 50;

export const seedDemoApp = ({ append, derived, now, waitMs = 20_000 }: SeedDemo) => {
  const app = routes();
  app.use(seedDemo.path, optionalBody());
  return app.openapi(seedDemo, async (c) => {
    if (c.req.valid('json').overwrite === true)
      throw new Refusal(
        'bad-request',
        'Cannot overwrite the demo sessions: raw turns are append-only; leave "overwrite" out to add what is missing',
      );
    const { demoTurns } = await import('../demo/turns.ts'); // rarely needed, so not loaded at the start
    const results = [];
    const turns = demoTurns(new Date(now()));
    // Those that are appended together share a commit, and may continue each other. The first failure ends it.
    for (let i = 0; i < turns.length; i += TURNS_AT_ONCE)
      results.push(...(await Promise.all(turns.slice(i, i + TURNS_AT_ONCE).map((turn) => storeTurn(append, turn)))));
    const sessions = [...new Set(results.map(({ session_id }) => session_id))];
    const isDerived = await waitUntil(() => derived(sessions), waitMs);
    const deduped = results.filter((turn) => turn.deduped).length;
    const seeded = {
      sessions: sessions.length,
      raw_turns: results.length,
      raw_turns_inserted: results.length - deduped,
      raw_turns_deduped: deduped,
    };
    return isDerived ? c.json(seeded, 200) : c.json(seeded, 202);
  });
};

async function storeTurn(append: SeedDemo['append'], turn: unknown) {
  const verdict = await append(new TextEncoder().encode(JSON.stringify(turn)));
  if (verdict.kind === 'accepted') return verdict;
  if (verdict.kind === 'unavailable') throw new DatabaseError(verdict.error, '', true);
  throw new Error(verdict.error); // the demo is the service's own, so this is a bug
}

/** Waits until the condition holds or the time is over. @returns whether it holds */
async function waitUntil(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() >= end) return false;
    await setTimeout(POLL_MS);
  }
  return true;
}
