/** A place in the record that an id leads to. */
import { z } from '@hono/zod-openapi';

const Place = z.object({
  kind: z
    .enum([
      ...(['session', 'harness_session', 'trace', 'span', 'raw_turn'] as const),
      ...(['response', 'tool_call', 'svc_proxy_request', 'request'] as const),
    ])
    .describe(
      "what the id is: of svc itself, the harness's id of a session, the provider's of a response or tool call, the proxy's of a request, or a sender's of an ingested turn",
    ),
  session_id: z.uuid(),
  trace_id: z.uuid().optional().describe('absent: of the whole session, or not derived yet'),
  span_id: z.uuid().optional(),
  raw_turn_id: z.int().optional(),
});
export type Place = z.infer<typeof Place>;

export const Places = z.object({ items: z.array(Place).describe('at most 50') }).openapi('Places', {
  examples: [
    {
      items: [
        {
          kind: 'response',
          session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
          trace_id: '0f6b7a52-6b3f-5a52-9a0e-1f2e3d4c5b6a',
          span_id: '5b1f0d3c-8f7e-5b6a-8c9d-0e1f2a3b4c5d',
          raw_turn_id: 12,
        },
      ],
    },
  ],
});
