/** GET /ping and /metrics: liveness and metrics of the service. */
import { createRoute, z } from '@hono/zod-openapi';
import { guardFailures, json, routes } from '../http/routes.ts';
import { METRICS_TYPE } from '../metrics.ts';

const ping = createRoute({
  method: 'get',
  path: '/ping',
  operationId: 'ping',
  tags: ['service'],
  summary: 'Answers as long as the service runs; needs no token',
  security: [],
  responses: {
    200: json(z.literal('pong').openapi({ examples: ['pong'] }), 'It runs'),
    403: guardFailures[403],
    500: guardFailures[500],
  },
});

/** @param metrics the text exposition */
export const serviceApp = ({ metrics }: { metrics: () => Promise<string> }) =>
  routes()
    .openapi(ping, (c) => c.json('pong' as const, 200))
    .get('/metrics', async (c) => c.body(await metrics(), 200, { 'content-type': METRICS_TYPE }));
