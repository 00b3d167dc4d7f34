/** POST /v1/admin/seed/demo: sessions to look at for somebody who has none yet. */
import { setTimeout } from 'node:timers/promises';
import { createRoute } from '@hono/zod-openapi';
import { DatabaseError, Refusal } from '../errors.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { Seeded, SeedRequest } from '../model/demo.ts';
import type { IngestVerdict } from '../model/ingest.ts';

export type SeedDemo = {
  /** As the ingest listener appends a body; it is the caller's last use of these bytes. */
  append: (body: Uint8Array<ArrayBuffer>) => Promise<IngestVerdict>;
  /** Whether all of these sessions are derived up to their last turn. */
  derived: (sessionIds: string[]) => Promise<boolean>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** How long to wait for derivation. */
  patienceMs?: number;
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
    400: json(Failure, 'Bad body, or overwrite', [
      'bad-request',
      'Cannot overwrite the demo sessions: raw turns are append-only; leave "overwrite" out to add what is missing',
    ]),
    413: json(Failure, 'Body too large'),
    415: json(Failure, 'The body is no JSON'),
    ...guarded,
  },
});

const ASK_AGAIN_MS = 50;

export const seedDemoApp = ({ append, derived, now, patienceMs = 20_000 }: SeedDemo) => {
  const app = routes();
  app.use(seedDemo.path, optionalBody());
  return app.openapi(seedDemo, async (c) => {
    if (c.req.valid('json').overwrite === true)
      throw new Refusal(
        'bad-request',
        'Cannot overwrite the demo sessions: raw turns are append-only; leave "overwrite" out to add what is missing',
      );
    const { demoTurns } = await import('../engine/demo/turns.ts'); // seldom needed, so not loaded at the start
    const kept = [];
    // one after the other: a turn may go on from the one before, and the first failure ends it
    for (const turn of demoTurns(new Date(now()))) kept.push(await stored(append, turn));
    const sessions = [...new Set(kept.map(({ session_id }) => session_id))];
    await settled(() => derived(sessions), patienceMs);
    const deduped = kept.filter((turn) => turn.deduped).length;
    return c.json(
      {
        sessions: sessions.length,
        raw_turns: kept.length,
        raw_turns_inserted: kept.length - deduped,
        raw_turns_deduped: deduped,
      },
      200,
    );
  });
};

async function stored(append: SeedDemo['append'], turn: unknown) {
  const verdict = await append(new TextEncoder().encode(JSON.stringify(turn)));
  if (verdict.kind === 'accepted') return verdict;
  if (verdict.kind === 'unavailable') throw new DatabaseError(verdict.error, '', true);
  throw new Error(verdict.error); // the demo is ours, so is the fault
}

/** Until it holds or patience ends. The turns are stored either way, and derived a little later at the worst. */
async function settled(holds: () => Promise<boolean>, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await holds()) && performance.now() < end) await setTimeout(ASK_AGAIN_MS);
}
