/** GET /v1/whereis/{id}: the places that an id of any kind leads to. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { Places } from '../model/place.ts';

const LONGEST = 512;

const AnyId = z
  .string()
  .min(1)
  .max(LONGEST)
  .describe(
    'of a session, trace or span, or its first 4 digits and more; of a raw turn; or one that a harness, a provider or the proxy gave',
  )
  .openapi({ examples: ['msg_01XFDUDYJgAACzvnptvVoYEL', '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', '7d1c9f', '12'] });

const whereIs = createRoute({
  method: 'get',
  path: '/v1/whereis/{id}',
  operationId: 'whereIs',
  tags: ['sessions'],
  summary: 'Where an id belongs, whoever gave it: the session, trace, span and raw turn',
  request: { params: z.object({ id: AnyId }) },
  responses: {
    200: json(Places, 'The places; none when the id is not known'),
    404: json(Failure, `The id is longer than ${LONGEST} characters`, [
      'route-unknown',
      'Cannot find what the path names: a segment of it is no id',
    ]),
    ...guardedRead,
  },
});

export const whereIsApp = ({ execute }: { execute: Database['execute'] }) =>
  routes().openapi(whereIs, async (c) =>
    c.json({ items: await execute('whereIs', { id: c.req.valid('param').id }) }, 200),
  );
