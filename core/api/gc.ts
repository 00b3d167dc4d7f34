/** POST /v1/admin/gc: removes slices that nothing refers to, and gives space back to the file system. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { GcReport } from '../model/gc.ts';

const UNDER_WAY = [
  'gc-under-way',
  'Cannot collect garbage: a collection or a backup is under way; try again when it is done',
] as const;

const gc = createRoute({
  method: 'post',
  path: '/v1/admin/gc',
  operationId: 'collectGarbage',
  tags: ['operator'],
  summary: 'Removes pieces of bodies that nothing refers to, and gives the space of removed rows back',
  description:
    'No turn loses anything, whatever is stored meanwhile. The embedded database writes its tables afresh, each of them while nothing else is ' +
    'stored or read; tables over 512 MB are left, and named. A server vacuums its tables, which makes their space free for new rows and gives ' +
    'back what is free at their ends. The last one is part of the status. A client that closes the connection ends it.',
  responses: {
    200: json(GcReport, 'What was removed, and what is left'),
    409: json(Failure, 'Another one is under way, or retention collects', UNDER_WAY),
    ...guarded,
  },
});

type Deps = { execute: Database['execute']; stopping?: AbortSignal | undefined };

export const gcApp = ({ execute, stopping }: Deps) =>
  routes().openapi(gc, async (c) => {
    const { runGc } = await import('../engine/gc/run-gc.ts'); // rarely needed, so not loaded at the start
    const signal = AbortSignal.any([c.req.raw.signal, ...(stopping ? [stopping] : [])]);
    const report = await runGc({ execute, signal, inUse: true });
    if (!report) throw new Refusal(...UNDER_WAY);
    return c.json(report, 200);
  });
