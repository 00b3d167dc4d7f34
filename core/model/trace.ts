/** A trace: what a person would call one turn, a prompt and all that followed from it. */
import { z } from '@hono/zod-openapi';
import { Link, linkExample } from './link.ts';
import { At, cursorExample, NextCursor } from './page.ts';
import { Session, sessionExample } from './session.ts';
import { Span, spanExample } from './span.ts';
import { UsageTotals } from './usage-totals.ts';

/** The name of the shape of trace documents: it changes when readers have to be changed. */
export const SCHEMA = 'svc.projection/v1';
const Schema = z.literal(SCHEMA);

export const traceExample = {
  trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901',
  session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
  source: 'wire',
  status: 'ok',
  user_prompt: 'The adder drops its carry, please look into it',
  response_preview: 'The carry is now passed on.',
  started_at: '2026-07-27T09:30:00.123456Z',
  ended_at: '2026-07-27T09:41:12.000512Z',
  duration_ns: 671_877_056_000,
  span_count: 17,
  tool_calls: 8,
  error_count: 0,
  usage: {
    input_tokens: 184_201,
    output_tokens: 3_120,
    cache_read_tokens: 160_440,
    cache_write_tokens: 21_007,
    reasoning_tokens: 0,
    cost_usd: 0.213_405,
    unpriced_models: [],
  },
  main_usage: { input_tokens: 184_201, output_tokens: 3_120 },
};

export const Trace = z
  .object({
    trace_id: z.uuid(),
    session_id: z.uuid(),
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
    error_count: z.int().describe('calls and tools that failed'),
    usage: UsageTotals,
    main_usage: z.object({ input_tokens: z.int(), output_tokens: z.int() }).describe('of the conversation itself'),
  })
  .openapi('Trace', { examples: [traceExample] });
export type Trace = z.infer<typeof Trace>;

export const TracePage = z
  .object({ schema: Schema, items: z.array(Trace), next_cursor: NextCursor })
  .openapi('TracePage', { examples: [{ schema: SCHEMA, items: [traceExample], next_cursor: cursorExample }] });

export const TraceDocument = z
  .object({
    schema: Schema,
    trace: Trace,
    spans: z.array(Span).describe('in the order of the walk, the root first'),
    links: z.array(Link).describe('those to and from other traces included'),
  })
  .openapi('TraceDocument', {
    examples: [{ schema: SCHEMA, trace: traceExample, spans: [spanExample], links: [linkExample] }],
  });

export const SpanWindow = z
  .object({
    schema: Schema,
    items: z.array(Span).describe('in the order of the walk'),
    next_seq: z.int().optional().describe('where the next window begins; absent: the trace has ended'),
  })
  .openapi('SpanWindow', { examples: [{ schema: SCHEMA, items: [spanExample], next_seq: 2 }] });

export const SessionDocument = z
  .object({
    schema: Schema,
    session: Session,
    traces: z.array(z.object({ trace: Trace, spans: z.array(Span) })).describe('by started_at, then trace_id'),
    links: z.array(Link),
  })
  .openapi('SessionDocument', {
    examples: [
      {
        schema: SCHEMA,
        session: sessionExample,
        traces: [{ trace: traceExample, spans: [spanExample] }],
        links: [linkExample],
      },
    ],
  });
