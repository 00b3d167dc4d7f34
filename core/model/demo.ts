/** The request to store the demo's sessions, and its result. */
import { z } from '@hono/zod-openapi';

export const SeedRequest = z
  .strictObject({
    overwrite: z
      .boolean()
      .optional()
      .describe('true is refused: raw turns are append-only, and what is there already is left as it is'),
  })
  .openapi('SeedRequest', { examples: [{}] });

export const Seeded = z
  .object({
    sessions: z.int(),
    raw_turns: z.int().describe('of all of these sessions'),
    raw_turns_inserted: z.int(),
    raw_turns_deduped: z.int().describe('which were there before'),
  })
  .openapi('Seeded', {
    examples: [{ sessions: 12, raw_turns: 98, raw_turns_inserted: 98, raw_turns_deduped: 0 }],
  });
export type Seeded = z.infer<typeof Seeded>;
