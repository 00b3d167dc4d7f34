/** The events of the stream: a session that changed, with what it is now, a session that is gone, and a reset to read everything anew. */
import { z } from '@hono/zod-openapi';
import { BudgetCrossing } from './budget.ts';
import { SessionAnswer, sessionExample } from './session.ts';

const idExample = '16384.17012/48120:48120:';

const EventId = z.string().describe('opaque; sent back as Last-Event-ID it resumes after this event');
const Nothing = z.strictObject({});
const GoneSession = z.object({ session_id: z.uuid() });

const eventUnion = <
  Session extends z.ZodType,
  Gone extends z.ZodType,
  Budget extends z.ZodType,
  None extends z.ZodType,
>(
  session: Session,
  gone: Gone,
  budget: Budget,
  none: None,
) =>
  z.discriminatedUnion('event', [
    z.object({
      event: z.literal('session').describe('a session is new or reads differently: this is how it reads now'),
      id: EventId,
      data: session,
    }),
    z.object({ event: z.literal('session_deleted').describe('a session is gone'), id: EventId, data: gone }),
    z.object({
      event: z.literal('budget_exceeded').describe('a day or month has spent more than its budget: once for each'),
      id: EventId,
      data: budget,
    }),
    z.object({
      event: z.literal('reset').describe('earlier events do not lead here: read everything again'),
      id: EventId,
      data: none,
    }),
    z.object({
      event: z.literal('ping').describe('first of all, and after each 15 seconds without an event'),
      id: EventId,
      data: none,
    }),
  ]);

/** One event as a client reads it, once it has parsed its `data`. */
export const Event = eventUnion(SessionAnswer, GoneSession, BudgetCrossing, Nothing);
export type Event = z.infer<typeof Event>;

/** A line of JSON. @param contentSchema of the JSON */
const jsonText = (contentSchema: object) =>
  z.string().openapi({ contentMediaType: 'application/json', contentSchema } as object);

const budgetSchema = {
  type: 'object',
  properties: {
    ...{ budget: { type: 'string' }, project: { type: 'string' }, period: { enum: ['day', 'month'] } },
    ...{
      period_start: { type: 'string', format: 'date' },
      limit_usd: { type: 'number' },
      spent_usd: { type: 'number' },
    },
    crossed_at: { type: 'string', format: 'date-time' },
  },
  required: ['budget', 'period', 'period_start', 'limit_usd', 'spent_usd', 'crossed_at'],
};

/** One event of the stream, field by field as Server-Sent Events have them; OpenAPI 3.1 has no other place for what an item is. */
export const StreamedEvent = eventUnion(
  jsonText({ $ref: '#/components/schemas/SessionAnswer' }),
  jsonText({
    type: 'object',
    properties: { session_id: { type: 'string', format: 'uuid' } },
    required: ['session_id'],
  }),
  jsonText(budgetSchema),
  jsonText({ type: 'object', additionalProperties: false }),
).openapi('Event', {
  description: 'One event of the stream, and not the stream as a whole',
  examples: [
    { event: 'session', id: idExample, data: JSON.stringify({ session: sessionExample }) },
    { event: 'session_deleted', id: idExample, data: JSON.stringify({ session_id: sessionExample.id }) },
    { event: 'reset', id: idExample, data: '{}' },
    { event: 'ping', id: idExample, data: '{}' },
  ],
});

/** An event as it goes over the wire. (WHATWG HTML, 'Server-sent events'.) */
export const eventText = ({ event, id, data }: Event): string =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

/** How long a client waits before it connects again, in milliseconds. */
export const RETRY = 'retry: 1000\n';
