/** A span: one step of a trace, which is the agent itself, a call of a model, a tool, or injected context. */
import { z } from '@hono/zod-openapi';
import { ContentBlock } from './content-block.ts';
import { At } from './page.ts';
import { CostParts } from './stats-series.ts';
import { UsageTotals } from './usage-totals.ts';

const Block = ContentBlock.openapi('ContentBlock', {
  examples: [{ type: 'text', text: 'The carry is now passed on.' }],
});

const AgentTotals = UsageTotals.extend({ calls: z.int(), tool_calls: z.int() });
export type AgentTotals = z.infer<typeof AgentTotals>;

export const SpanUsage = z.object({
  input_tokens: z.int().describe('cache reads and writes included'),
  output_tokens: z.int().describe('reasoning included'),
  cache_read_tokens: z.int(),
  cache_write_5m_tokens: z.int(),
  cache_write_1h_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost_usd: z.number().nullable().describe('null: the model has no known price'),
  cost: CostParts.optional().describe(
    'the cost in its parts; left out where it has no price, or its rates are not known',
  ),
});
export type SpanUsage = z.infer<typeof SpanUsage>;

const rate = z.number().describe('USD per million tokens');
const Rates = z.object({ fresh: rate, cache_read: rate, cache_write_5m: rate, cache_write_1h: rate, output: rate });

export const spanExample = {
  trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112',
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  parent_span_id: '2e4c6f70-8192-53a4-b5c6-d7e8f9011223',
  seq: 1,
  kind: 'llm',
  call_kind: 'main',
  name: 'claude-sonnet-4-5',
  thread_id: '',
  status: 'ok',
  model: 'claude-sonnet-4-5',
  provider: 'anthropic',
  stop_reason: 'end_turn',
  external_id: 'msg_01Kq',
  started_at: '2026-07-27T09:30:00.123456Z',
  first_byte_at: '2026-07-27T09:30:00.923456Z',
  ended_at: '2026-07-27T09:30:04.123456Z',
  duration_ns: 4_000_000_000,
  input: [{ type: 'text', text: 'The adder drops its carry, please look into it' }],
  output: [{ type: 'text', text: 'The carry is now passed on.' }],
  usage: {
    input_tokens: 21_200,
    output_tokens: 410,
    cache_read_tokens: 18_000,
    cache_write_5m_tokens: 3_000,
    cache_write_1h_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: 0.0234,
    cost: {
      fresh: 0.000_6,
      cache_read: 0.005_4,
      cache_write_5m: 0.011_25,
      cache_write_1h: 0,
      output: 0.006_15,
      reasoning: 0,
    },
  },
  price: {
    model: 'claude-sonnet-4-5',
    source: 'genai-prices',
    date: '2026-07-01',
    rates: { fresh: 3, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6, output: 15 },
  },
  raw_turn_id: 12,
};

export const Span = z
  .object({
    trace_id: z.uuid(),
    span_id: z.uuid(),
    session_id: z.uuid(),
    parent_span_id: z.uuid().optional(),
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
    first_byte_at: At.optional(),
    ended_at: At.optional(),
    duration_ns: z.int().optional(),
    input: z.array(Block),
    output: z.array(Block),
    verdict: z.record(z.string(), z.unknown()).optional(),
    usage: SpanUsage,
    usage_verbatim: z.record(z.string(), z.unknown()).optional().describe('as the provider reported it'),
    price: z
      .object({
        model: z.string(),
        source: z.string(),
        date: z.string(),
        rates: Rates.optional().describe(
          'as applied: what the row lacks is filled in, a multiple is multiplied; reasoning is billed as output',
        ),
      })
      .optional()
      .describe('the price row that was used'),
    tool_calls_omitted: z
      .int()
      .optional()
      .describe('tool calls of the answer that are neither in `output` nor a span: those after its first 2000'),
    events_omitted: z
      .int()
      .optional()
      .describe('messages that were put in with the call and have no span: those after the first 2000'),
    description: z.string().optional().describe('of a sub-agent: what it was sent out for'),
    totals: AgentTotals.optional().describe("of an agent's own calls; those of the agents below it are theirs"),
    raw_turn_id: z.int().optional(),
    node_hash: z.string().optional(),
    inherited_from_session_id: z
      .uuid()
      .optional()
      .describe('history: the call counts in that session, with its tokens and cost'),
    payload: z.literal('preview').optional().describe('present when input and output are shortened'),
  })
  .openapi('Span', { examples: [spanExample] });
export type Span = z.infer<typeof Span>;
