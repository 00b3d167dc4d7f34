/** The request for where a text stands, and the stream of what was found. */
import { z } from '@hono/zod-openapi';

export const FindTextRequest = z
  .strictObject({
    text: z
      .string()
      .min(4)
      .max(4096)
      .describe('looked for as it is written, also where it stands within JSON or an address; it is not logged'),
  })
  .openapi('FindText', { examples: [{ text: 'correct horse battery' }] });

const Side = z.enum(['request', 'response', 'request_headers', 'response_headers', 'columns']);

const Found = z.object({
  session_id: z.uuid(),
  title: z.string().nullable(),
  harness_id: z.string(),
  deleted: z.boolean().describe('it is hidden, and its turns are there'),
  raw_turns: z.int().describe('that hold the text'),
  turns: z
    .array(z.object({ raw_turn_id: z.int(), sides: z.array(Side) }))
    .describe('the first hundred of them; `columns`: the address, or a fact about the call'),
  spans: z.array(z.object({ trace_id: z.uuid(), span_id: z.uuid(), kind: z.string() })).describe('the first twenty'),
  rows: z.record(z.string(), z.int()).describe('rows of what was derived, and of names, by table'),
});

/** One line of the stream. */
export const FindTextLine = z
  .union([
    z.object({ sessions: z.int() }).describe('the first: how many there are'),
    z.object({ scanned: z.int() }).describe('now and then: how many were looked through'),
    z.object({ found: Found }),
    z
      .object({
        elsewhere: z.object({
          parked_turns: z.array(z.string()).describe('turns that were set aside, by their ids'),
          tables: z
            .array(z.object({ table: z.string(), rows: z.int() }))
            .describe('of cassettes, and reasons of purges'),
        }),
      })
      .describe('what belongs to no session'),
    z.object({ end: z.literal(true) }).describe('the last: the stream is whole'),
  ])
  .openapi('FindTextLine', { examples: [{ end: true }] });
export type FindTextLine = z.infer<typeof FindTextLine>;
