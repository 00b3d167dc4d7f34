/** A link: a relation between two spans that is not parent and child, such as what one requested, fed or repeats. */
import { z } from '@hono/zod-openapi';

const Side = z.enum(['input', 'output', 'verdict']).optional();

export const linkExample = {
  kind: 'emits',
  from_trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  from_span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
  from_io: 'output',
  to_trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  to_span_id: '3f5d7081-92a3-54b5-86d7-e8f901122334',
  to_io: 'input',
};

export const Link = z
  .object({
    kind: z.enum(['emits', 'feeds', 'rejoin', 'verdict', 'compaction-seam', 'retry-of', 'fork-of']),
    from_trace_id: z.uuid(),
    from_span_id: z.uuid(),
    from_io: Side,
    to_trace_id: z.uuid(),
    to_span_id: z.uuid(),
    to_io: Side,
  })
  .openapi('Link', { examples: [linkExample] });
export type Link = z.infer<typeof Link>;
