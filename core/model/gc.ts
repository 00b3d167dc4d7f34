/** The report of a garbage collection: the slices that nothing referred to, and the space that the database gave back. */
import { z } from '@hono/zod-openapi';

export const GcReport = z
  .object({
    slices: z.int().describe('that nothing referred to, and that are removed'),
    slice_bytes: z.int().describe('what these took, compressed'),
    bytes_before: z.int().describe('of the database on disk'),
    bytes_after: z.int(),
    tables: z
      .array(z.object({ name: z.string(), bytes_before: z.int(), bytes_after: z.int() }))
      .describe('that take another space now than before, with their indexes'),
    left: z
      .array(z.object({ name: z.string(), bytes: z.int(), reason: z.string() }))
      .describe('tables that were not written afresh, and why'),
    complete: z.boolean().describe('false: it was stopped before its end; the next one goes on'),
  })
  .openapi('GcReport', {
    examples: [
      {
        ...{ slices: 812, slice_bytes: 301_220, bytes_before: 91_226_112, bytes_after: 60_817_408 },
        tables: [{ name: 'svc.spans', bytes_before: 31_457_280, bytes_after: 12_582_912 }],
        ...{ left: [], complete: true },
      },
    ],
  });
export type GcReport = z.infer<typeof GcReport>;
