/** GET /v1/admin/backup: everything that cannot be derived again, as one file, while the service goes on. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { chunkStream } from '../http/chunk-stream.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';

const backup = createRoute({
  method: 'get',
  path: '/v1/admin/backup',
  operationId: 'makeBackup',
  tags: ['operator'],
  summary: 'A backup of everything that cannot be derived again, as one file',
  description:
    'The raw turns with their bytes, corrections, tombstones, turns that were set aside, coverage, names and stars, the key by which ' +
    'clients are recognised, and the tables of cassettes in the same database, in lines of JSON compressed by gzip. `svc restore` reads ' +
    'it into an empty database of either kind; its last line has counts and a hash, so that one that was cut off is recognised. What ' +
    'comes in after the response has begun is not in it. It holds all that was recorded, and is to be guarded as the database is.',
  responses: {
    200: {
      description: 'The backup. The connection is cut when it cannot be finished',
      content: {
        'application/gzip': { schema: z.string().openapi({ format: 'binary' }), example: '(bytes of gzip)' },
      },
      headers: {
        'content-disposition': { schema: { type: 'string' as const }, description: 'For browsers: it is saved' },
      },
    },
    409: json(Failure, 'Turns were removed meanwhile, or something that removes some does not end', [
      'backup-broken',
      'Cannot finish the backup: turns or their bytes were removed meanwhile; begin again',
    ]),
    ...guarded,
  },
});

const HEAD = {
  'content-type': 'application/gzip',
  'content-disposition': 'attachment; filename="svc-backup.jsonl.gz"',
};

type Deps = { execute: Database['execute']; version: string; log: Logger };

export const backupApp = ({ execute, version, log }: Deps) =>
  routes().openapi(backup, async (c) => {
    if (c.req.method === 'HEAD') return c.body(null, 200, HEAD) as never; // a backup reads everything, and holds up what removes by itself
    const { writeBackup } = await import('../engine/backup/write-backup.ts'); // rarely needed, so not loaded at the start
    return (await chunkStream(c, writeBackup({ execute, version, signal: c.req.raw.signal }), HEAD, log)) as never; // binary, as in the contract
  });
