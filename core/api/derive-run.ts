/** POST /v1/admin/derive/run: derives one or all sessions again from the bytes of the raw turns. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { DeriveReport } from '../model/derive-report.ts';
import { openBackoff } from '../retry.ts';
import { sessionOf } from './sessions.ts';

const RunRequest = z
  .strictObject({ session_id: z.uuid().optional().describe('only this one; absent: every session') })
  .openapi('DeriveRun', { examples: [{}, { session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10' }] });

const runDerive = createRoute({
  method: 'post',
  path: '/v1/admin/derive/run',
  operationId: 'runDerive',
  tags: ['operator'],
  summary:
    'Reads the raw turns again and derives every session anew, with the formats and prices of now; the raw turns stay as they are',
  request: { body: { required: false, content: { 'application/json': { schema: RunRequest } } } },
  responses: {
    200: json(DeriveReport, 'Done'),
    202: json(DeriveReport, 'Under way: it goes on by itself, and `svc status` shows what is left'),
    400: json(Failure, 'The body is no such object', ['bad-request', 'Cannot read the body: Unrecognized key: "all"']),
    404: json(Failure, 'No such session'),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const WAIT_MS = 50_000;
const POLL = { firstMs: 20, maxMs: 500 };

export const deriveRunApp = ({ execute }: { execute: Database['execute'] }) => {
  const app = routes();
  app.use(runDerive.path, optionalBody());
  return app.openapi(runDerive, async (c) => {
    const { session_id = null } = c.req.valid('json') ?? {};
    if (session_id !== null) await sessionOf(execute, session_id);
    const { sessions, marked_at } = await execute('markFromScratch', { session_id });
    const session_ids = session_id === null ? null : [session_id];
    const deadline = performance.now() + WAIT_MS;
    let remaining = await execute('markedPending', { marked_at, session_ids });
    const poll = openBackoff(POLL);
    while (remaining.pending > 0 && performance.now() < deadline) {
      await sleep(poll.next());
      remaining = await execute('markedPending', { marked_at, session_ids });
    }
    const report = { sessions, ...remaining, ...(await execute('deriveReport', { session_id })) };
    return remaining.pending > 0 ? c.json(report, 202) : c.json(report, 200);
  });
};
