/** What did deriving everything again find? (Reference section 4.15.) */
import { z } from '@hono/zod-openapi';

const Counts = z.record(z.string(), z.int());

export const DeriveReport = z
  .object({
    sessions: z.int().describe('whose raw turns were read again'),
    pending: z.int().describe('of these, still at work or tried again'),
    parked: z.int().describe('of these, failed too often to be tried again by themselves'),
    raw_turns: z.int(),
    parsed_turns: z.int().describe('whose request and answer could be read'),
    raw_only_turns: z
      .int()
      .describe('kept, with nothing read but their bytes: refused, torn, or in no format known here'),
    parse_failures: z
      .array(z.object({ raw_turn_id: z.int(), reason: z.string() }))
      .describe('requests that cannot be read, the newest twenty'),
    nodes: z.int(),
    traces: z.int(),
    spans: z.int(),
    call_kinds: Counts.describe('LLM calls by what they were for'),
    node_kinds: Counts.describe('messages by role, or by the kind of context that a harness put in'),
  })
  .openapi('DeriveReport', {
    examples: [
      {
        sessions: 1,
        pending: 0,
        parked: 0,
        raw_turns: 9,
        parsed_turns: 9,
        raw_only_turns: 0,
        parse_failures: [],
        nodes: 19,
        traces: 2,
        spans: 27,
        call_kinds: { main: 9 },
        node_kinds: { assistant: 9, user: 10 },
      },
    ],
  });
export type DeriveReport = z.infer<typeof DeriveReport>;
