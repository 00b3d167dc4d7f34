/**
 * The shape of a line: a session, its traces, spans and links as the read API shows them, with fewer members: the views lack most of the
 * others. README.md lists them: of a session `starred` and of its rollup `error_count` and `shape`, of a trace `error_count`, of a span
 * `usage.cost`, and more. Whether a session is `live` depends on when it is read, which a file does not know.
 */
import { z } from '@hono/zod-openapi';

/** The name of the shape of a line; it changes when readers have to change. */
export const SCHEMA = 'svc.export/v1';

const At = z.iso.datetime().describe('UTC, with microseconds');

const UsageTotals = z.object({
  input_tokens: z.int().describe('of all LLM spans; cache reads and writes included'),
  output_tokens: z.int().describe('reasoning included'),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost_usd: z.number().nullable().describe('of the priced calls; null: none is priced'),
  unpriced_models: z.array(z.string()),
});

const ModelUse = z.object({
  model: z.string(),
  calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number().nullable().describe('null: the model has no known price'),
  price: z.object({ source: z.string(), date: z.string() }).nullable(),
});

const ExportedSession = z
  .object({
    id: z.guid(),
    harness_id: z.string().describe('"unknown" when no client names it'),
    harness_session_id: z.string(),
    harness_version: z.string().optional(),
    harness_metadata: z.record(z.string(), z.unknown()).optional(),
    parent_session_id: z.guid().optional(),
    auth_subject: z.string().optional(),
    cwd: z.string().optional(),
    git_branch: z.string().optional(),
    name: z.string().optional().describe('given by the harness'),
    display_name: z.string().optional().describe('given by a person'),
    display_title: z.string(),
    started_at: At,
    last_seen_at: At,
    ended_at: At.optional(),
    rollup: z.object({
      status: z.enum(['completed', 'failed', 'abandoned', 'interrupted', 'unknown']),
      title: z.string().optional(),
      preview: z.string().optional().describe('the beginning of the first prompt'),
      turn_count: z.int().describe('traces'),
      model: z.string().optional().describe('used most'),
      model_usage: z.array(ModelUse).optional().describe('one row for each model and price'),
      kind_counts: z.record(z.string(), z.int()).describe('LLM calls by what they were for'),
      tool_result_count: z.int(),
      tool_error_count: z.int(),
      has_git_activity: z.boolean(),
      tasks: z.array(z.unknown()),
      usage: UsageTotals,
    }),
  })
  .openapi('ExportedSession');
export type ExportedSession = z.infer<typeof ExportedSession>;

const ExportedTrace = z
  .object({
    trace_id: z.guid(),
    session_id: z.guid(),
    source: z.enum(['wire', 'transcript']).describe('transcript: a partial projection built from uploads'),
    status: z.enum(['ok', 'error', 'partial']),
    synthetic: z.string().optional().describe("why there is a trace without a person's prompt"),
    user_prompt: z.string().describe('its beginning'),
    response_preview: z.string().optional(),
    started_at: At,
    ended_at: At.optional(),
    duration_ns: z.int().optional(),
    span_count: z.int(),
    tool_calls: z.int(),
    usage: UsageTotals,
    main_usage: z.object({ input_tokens: z.int(), output_tokens: z.int() }).describe('of the conversation itself'),
  })
  .openapi('ExportedTrace');
export type ExportedTrace = z.infer<typeof ExportedTrace>;

const Block = z
  .looseObject({
    type: z
      .string()
      .describe('text, image, thinking, tool_use, server_tool_use, tool_result, or as the provider names it'),
    text: z.string().optional(),
    image_url: z.string().optional(),
    image_base64: z.string().optional(),
    media_type: z.string().optional(),
    tool_use_id: z.string().optional(),
    tool_name: z.string().optional(),
    tool_input: z.unknown().optional(),
    tool_result_id: z.string().optional(),
    tool_output: z.string().optional(),
    is_error: z.boolean().optional(),
    thinking: z.string().optional(),
    thinking_signature: z.string().optional(),
    content: z.unknown().optional(),
  })
  .openapi('ExportedBlock');

const AgentTotals = UsageTotals.extend({ calls: z.int(), tool_calls: z.int() });

const ExportedSpan = z
  .object({
    trace_id: z.guid(),
    span_id: z.guid(),
    session_id: z.guid(),
    parent_span_id: z.guid().optional(),
    seq: z.int().describe('place in the trace, 0 first'),
    kind: z.enum(['agent', 'llm', 'tool', 'event']),
    call_kind: z.string().describe('what an LLM call was for, or which context an event put in'),
    name: z.string(),
    thread_id: z.string().describe('"" is the main thread'),
    status: z.enum(['ok', 'error', 'partial']),
    error_type: z.string().optional(),
    error_message: z.string().optional().describe("the provider's own sentence"),
    model: z.string(),
    provider: z.string(),
    stop_reason: z.string().describe("the provider's word"),
    external_id: z.string().optional().describe("the provider's own id of the answer or the tool call"),
    started_at: At,
    ended_at: At.optional(),
    duration_ns: z.int().optional(),
    input: z.array(Block),
    output: z.array(Block),
    verdict: z.record(z.string(), z.unknown()).optional(),
    usage: z.object({
      input_tokens: z.int().describe('cache reads and writes included'),
      output_tokens: z.int().describe('reasoning included'),
      cache_read_tokens: z.int(),
      cache_write_5m_tokens: z.int(),
      cache_write_1h_tokens: z.int(),
      reasoning_tokens: z.int(),
      cost_usd: z.number().nullable().describe('null: the model has no known price'),
    }),
    usage_verbatim: z.record(z.string(), z.unknown()).optional().describe('as the provider reported it'),
    raw_turn_id: z.int().optional(),
    node_hash: z.string().optional(),
    description: z.string().optional().describe('of a sub-agent: what it was sent out for'),
    totals: AgentTotals.optional().describe("of an agent's own calls; those of the agents below it are theirs"),
  })
  .openapi('ExportedSpan');
export type ExportedSpan = z.infer<typeof ExportedSpan>;

const Side = z.enum(['input', 'output', 'verdict']).optional();
const ExportedLink = z
  .object({
    kind: z.enum(['emits', 'feeds', 'rejoin', 'verdict', 'compaction-seam', 'retry-of', 'fork-of']),
    from_trace_id: z.guid(),
    from_span_id: z.guid(),
    from_io: Side,
    to_trace_id: z.guid(),
    to_span_id: z.guid(),
    to_io: Side,
  })
  .openapi('ExportedLink');
export type ExportedLink = z.infer<typeof ExportedLink>;

/** A line with `detail=spans` has spans and links, one with `detail=traces` has neither. */
export const ExportLine = z
  .object({
    schema: z.literal(SCHEMA),
    session: ExportedSession,
    traces: z
      .array(
        z.object({
          trace: ExportedTrace,
          spans: z
            .array(ExportedSpan)
            .optional()
            .describe('in the order of the walk, the root first; absent with detail=traces'),
        }),
      )
      .describe('by started_at, then trace_id'),
    links: z.array(ExportedLink).optional().describe('absent with detail=traces'),
  })
  .openapi('ExportLine', { description: 'One session: one line of an export' });

export const ExportLines = z
  .string()
  .openapi('ExportLines', { description: 'One ExportLine for each session, each on a line of its own' });

/** The JSON Schema that is published beside this file: `line.schema.json`. */
export const lineSchema = (): object => {
  const { $schema, ...rest } = z.toJSONSchema(ExportLine, { io: 'input' });
  return { $schema, title: `${SCHEMA}: a session, as one line of an export`, ...rest };
};
