/** GET /v1/events: changes of sessions as Server-Sent Events, instead of polling. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { StreamedEvent } from '../model/event.ts';
import { type EventFeed, eventFeed } from './event-feed.ts';
import { isKnownPlace, readEventId } from './event-id.ts';

const Resume = z.string().max(8192).optional();

const readEvents = createRoute({
  method: 'get',
  path: '/v1/events',
  operationId: 'readEvents',
  tags: ['sessions'],
  summary: 'Sessions as they change, as Server-Sent Events; resumable',
  description:
    'One event per changed session, within a second: `session` with the session as it reads now, `session_deleted`; ' +
    '`budget_exceeded`, once for each budget and period; besides `ping`, ' +
    'and `reset` when the id sent does not belong to this database any more and everything is to be read again. A session that ' +
    'changes several times in a row may be told once, as it came to be. Without an id the stream begins now, with a `ping`. With ' +
    'the id of the last event heard, as `Last-Event-ID` (clients of Server-Sent Events send it by themselves when they connect ' +
    'again) or as `after`, it goes on where that one ended: nothing is left out, and nothing told again. The id `0` tells every ' +
    'session there is. The schema is that of one event.',
  request: {
    headers: z.object({ 'last-event-id': Resume.describe('goes before `after`') }),
    query: z.object({ after: Resume.describe('the id of an event, or 0, where no header can be set') }),
  },
  responses: {
    200: {
      description: 'Events, until the client leaves or the service stops',
      content: { 'text/event-stream': { schema: StreamedEvent } },
      headers: {
        'x-accel-buffering': {
          schema: { const: 'no' },
          required: true,
          description: 'For proxies: pass it on at once',
        },
      },
    },
    400: json(Failure, 'The id is none that an event had', [
      'bad-request',
      'Cannot resume: the id is none that an event had',
    ]),
    ...guardedRead,
    503: json(Failure, 'The database is not available, or too many are listening already; ask again'),
  },
});

const HEAD = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };

type Deps = { execute: Database['execute']; now: () => number; log: Logger; stopping?: AbortSignal | undefined };

export const eventsApp = (deps: Deps & { feed?: EventFeed }) => {
  const { execute, feed = eventFeed(deps) } = deps;
  const app = routes();
  return app.openapi(readEvents, async (c) => {
    const id = c.req.valid('header')['last-event-id'] || c.req.valid('query').after;
    const requested = id === undefined ? null : readEventId(id);
    const current = await execute('changesNow', {});
    if (feed.isFull()) throw new Refusal('too-many-readers', 'Cannot tell events: too many are listening already');
    if (c.req.raw.method === 'HEAD') return c.body(null, 200, HEAD);
    const newest = await execute('lastCrossing', {});
    const from = { life: current.life, place: { seen: current.seen, round: null }, crossing: newest };
    if (requested === null) return c.body(feed.stream(from, 'ping'), 200, HEAD);
    if (!isKnownPlace(requested, current)) return c.body(feed.stream(from, 'reset'), 200, HEAD);
    return c.body(
      feed.stream({ life: current.life, place: requested.place, crossing: requested.crossing ?? newest }, 'ping'),
      200,
      HEAD,
    );
  });
};
