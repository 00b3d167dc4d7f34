/** The report of deriving everything again. */
import { z } from '@hono/zod-openapi';

const Counts = z.record(z.string(), z.int());

const Reconcile = z
  .object({
    transcript_files: z.int().describe('of threads: the version of each that counts'),
    subagent_forks: z.int().describe('of these, of sub-agents'),
    threads_anchored: z.int().describe('sub-agents placed under the tool call that started them'),
    threads_unanchored: z.int(),
    interacted_rows: z
      .int()
      .describe('records of threads that were entered again: stored, and never evidence of a spawn'),
  })
  .describe('evidence of transcripts on how threads began');

const TranscriptProjection = z
  .object({
    files: z.int(),
    records: z.int(),
    projected_records: z.int(),
    omitted_records: z.int(),
    omitted_types: Counts.describe('record types that nothing was made of; the raw turn has them all'),
    suppressed_by_wire: z.int().describe('files whose conversation was captured over the wire'),
  })
  .describe('what was made of the records of transcripts');

export const DeriveReport = z
  .object({
    sessions: z.int().describe('whose raw turns were read again'),
    pending: z.int().describe('of these, still at work or tried again'),
    parked: z.int().describe('of these, failed too often to be tried again by themselves'),
    raw_turns: z.int(),
    parsed_turns: z.int().describe('whose request and answer could be read'),
    raw_only_turns: z.int().describe('stored without being read: refused, torn, or in no known format'),
    parse_failures: z
      .array(z.object({ raw_turn_id: z.int(), reason: z.string() }))
      .describe('requests that cannot be read, the newest twenty'),
    nodes: z.int(),
    traces: z.int(),
    spans: z.int(),
    call_kinds: Counts.describe('LLM calls by what they were for'),
    node_kinds: Counts.describe('messages by role, or by the kind of context that a harness put in'),
    judged_actions: z.int().describe('permission checks'),
    attached_verdicts: z.int().describe('of these, those placed under the tool call that they judge'),
    unattached_actions: z
      .array(z.object({ trace_id: z.uuid(), span_id: z.uuid() }))
      .describe('the others, the newest twenty'),
    web_summaries_attached: z.int(),
    plans_attached: z.int(),
    reconcile: Reconcile,
    transcript_projection: TranscriptProjection,
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
        judged_actions: 0,
        attached_verdicts: 0,
        unattached_actions: [],
        web_summaries_attached: 0,
        plans_attached: 0,
        reconcile: {
          transcript_files: 2,
          subagent_forks: 1,
          threads_anchored: 1,
          threads_unanchored: 0,
          interacted_rows: 0,
        },
        transcript_projection: {
          files: 2,
          records: 26,
          projected_records: 13,
          omitted_records: 13,
          omitted_types: { 'queue-operation': 2, 'file-history-snapshot': 11 },
          suppressed_by_wire: 2,
        },
      },
    ],
  });
export type DeriveReport = z.infer<typeof DeriveReport>;
