/** What does the stream of events tell? Which session reads differently now and how, which one is gone, and when to begin anew. */
import { z } from '@hono/zod-openapi';
import { SessionAnswer, sessionExample } from './session.ts';

const idExample = '16384.17012/48120:48120:';

const EventId = z.string().describe('opaque; sent back as Last-Event-ID it resumes after this event');
const Nothing = z.strictObject({});

/** One event as a client of Server-Sent Events hears it; `data` is JSON on one line. */
export const Event = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('session').describe('a session is new or reads differently: this is how it reads now'),
      id: EventId,
      data: SessionAnswer,
    }),
    z.object({
      event: z.literal('session_deleted').describe('a session is gone'),
      id: EventId,
      data: z.object({ session_id: z.uuid() }),
    }),
    z.object({
      event: z.literal('reset').describe('what was told before does not lead here: read everything again'),
      id: EventId,
      data: Nothing,
    }),
    z.object({
      event: z.literal('ping').describe('first of all, and whenever nothing was told for 15 seconds'),
      id: EventId,
      data: Nothing,
    }),
  ])
  .openapi('Event', {
    examples: [
      { event: 'session', id: idExample, data: { session: sessionExample } },
      { event: 'session_deleted', id: idExample, data: { session_id: sessionExample.id } },
      { event: 'reset', id: idExample, data: {} },
      { event: 'ping', id: idExample, data: {} },
    ],
  });
export type Event = z.infer<typeof Event>;

/** As it goes over the wire. (WHATWG HTML, 'Server-sent events'.) */
export const eventText = ({ event, id, data }: Event): string =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

/** What a client waits before it connects again. */
export const RETRY = 'retry: 1000\n';

/** The body as a whole. */
export const EventStream = z.string().openapi('EventStream', {
  examples: [
    `${RETRY}${eventText({ event: 'ping', id: idExample, data: {} })}${eventText({ event: 'session_deleted', id: idExample, data: { session_id: sessionExample.id } })}`,
  ],
});
