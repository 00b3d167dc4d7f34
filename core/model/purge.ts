/** The request for a purge, and the report of what it removed and what is left. */
import { z } from '@hono/zod-openapi';

export const PurgeRequest = z
  .strictObject({
    reason: z
      .string()
      .trim()
      .max(500)
      .optional()
      .describe('stored with the tombstones, for whoever verifies the log: do not repeat in it what is to be removed'),
    sweep: z
      .boolean()
      .optional()
      .describe('false: files are not written anew, for all but the last of several purges; absent: they are'),
  })
  .openapi('PurgeRequest', { examples: [{}, { reason: 'a key was pasted into the prompt' }] });

export const Purged = z
  .object({
    session_id: z.uuid(),
    raw_turns: z.int().describe('that went with this call'),
    slices: z.int().describe('slices that nothing else refers to, removed with them'),
    slices_shared: z
      .int()
      .describe('pieces that other sessions hold as well, or turns that came in meanwhile; they stay'),
    bytes: z.int().describe('that the pieces took, compressed'),
    tombstones: z.int().describe('of the session now, one for each raw turn, with those of earlier purges'),
    made_of_it: z
      .array(
        z.object({
          cassette: z.string(),
          table: z.string(),
          id: z.string(),
          name: z.string(),
          removed: z
            .boolean()
            .describe('false: it was edited, or may have been; it stays, and may hold what was to be removed'),
        }),
      )
      .describe('what cassettes wrote of the session, such as skills that were generated from it'),
    rewritten: z
      .boolean()
      .describe(
        'true: the files of the embedded database were written anew without what went, and its write-ahead log before that is deleted; ' +
          'false: what went lies in pages that are yet to be written over, as on any server until its vacuum',
      ),
  })
  .openapi('Purged', {
    examples: [
      {
        session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
        raw_turns: 9,
        slices: 61,
        slices_shared: 14,
        bytes: 48_210,
        tombstones: 9,
        made_of_it: [
          {
            cassette: 'skills',
            table: 'skills',
            id: '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c',
            name: 'Test dates at the harbour',
            removed: true,
          },
        ],
        rewritten: true,
      },
    ],
  });
