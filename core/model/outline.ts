/** The outline of a session: all of its traces, spans and links without their texts, column by column, and what changed since a revision. */
import { z } from '@hono/zod-openapi';
import { At, NextCursor } from './page.ts';

/** The name of the shape of outlines: it changes when readers have to be changed. */
export const OUTLINE_SCHEMA = 'svc.outline/v1';

const Ids = z.array(z.uuid());
const Counts = z.array(z.int());
const Names = z.array(z.int()).describe('indexes of `names`');
const Microseconds = z.array(z.int()).describe('microseconds after `base_at`');
const Durations = z.array(z.int().nullable()).describe('microseconds; null: not known');
const Costs = z.array(z.number().nullable()).describe('USD; null: nothing of it has a known price');
const SpanRefs = z
  .array(z.int())
  .describe('-1: none; below the number of spans here: one of them; from there on: `others`, counted from 0');

const TraceColumns = z.object({
  trace_id: Ids,
  started_us: Microseconds,
  duration_us: Durations,
  status: Names,
  source: Names,
  synthetic: Names,
  user_prompt: z.array(z.string()).describe('its beginning'),
  span_count: Counts,
  tool_calls: Counts,
  error_count: Counts,
  input_tokens: Counts,
  output_tokens: Counts,
  cost_usd: Costs,
});

const SpanColumns = z.object({
  span_id: Ids,
  trace: Counts.describe('index of `traces`'),
  parent: SpanRefs,
  seq: Counts.describe('place in the trace, 0 first'),
  kind: Names,
  call_kind: Names,
  name: Names,
  thread: Names,
  status: Names,
  error_type: Names,
  model: Names,
  stop_reason: Names,
  verdict: Names.describe('of a permission check and of the tool that it judged; an index of an empty name: none'),
  started_us: Microseconds,
  first_byte_us: z.array(z.int().nullable()).describe('microseconds after `base_at`; null: not known'),
  duration_us: Durations,
  input_tokens: Counts,
  cache_read_tokens: Counts,
  cache_write_tokens: Counts,
  output_tokens: Counts,
  cost_usd: Costs,
  raw_turn_id: z.array(z.int().nullable()),
  inherited: z.array(z.int()).describe('1: history, which counts in another session'),
  label: z
    .array(z.string())
    .describe('what matters of it in at most 120 characters: a command, a path, how a text begins'),
  input_lines: Counts.describe('of its texts; a line break at the end of a text begins none'),
  input_characters: Counts.describe('UTF-16 units'),
  output_lines: Counts,
  output_characters: Counts,
  images: Counts,
});

const LinkColumns = z.object({ kind: Names, from: SpanRefs, to: SpanRefs });

export const outlineExample = {
  schema: OUTLINE_SCHEMA,
  rev: '418',
  whole: true,
  base_at: '2026-07-27T09:30:00.123456Z',
  names: ['ok', 'wire', '', 'llm', 'main', 'claude-sonnet-4-5', 'end_turn'],
  traces: {
    trace_id: ['0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901'],
    started_us: [0],
    duration_us: [671_877_056],
    status: [0],
    source: [1],
    synthetic: [2],
    user_prompt: ['The adder drops its carry, please look into it'],
    span_count: [1],
    tool_calls: [0],
    error_count: [0],
    input_tokens: [21_200],
    output_tokens: [410],
    cost_usd: [0.0234],
  },
  spans: {
    span_id: ['1d3b5e6f-7081-5293-a4b5-c6d7e8f90112'],
    trace: [0],
    parent: [-1],
    seq: [0],
    kind: [3],
    call_kind: [4],
    name: [5],
    thread: [2],
    status: [0],
    error_type: [2],
    model: [5],
    stop_reason: [6],
    verdict: [2],
    started_us: [0],
    first_byte_us: [800_000],
    duration_us: [4_000_000],
    input_tokens: [21_200],
    cache_read_tokens: [18_000],
    cache_write_tokens: [3_000],
    output_tokens: [410],
    cost_usd: [0.0234],
    raw_turn_id: [12],
    inherited: [0],
    label: ['The carry is now passed on.'],
    input_lines: [1],
    input_characters: [46],
    output_lines: [1],
    output_characters: [27],
    images: [0],
  },
  others: [],
  links: { kind: [], from: [], to: [] },
};

export const Outline = z
  .object({
    schema: z.literal(OUTLINE_SCHEMA),
    rev: z
      .string()
      .describe('the revision that this answer leads to; sent back as `after` it gives what changed since'),
    whole: z
      .boolean()
      .describe('true: everything there is; false: what changed after `after`, to be laid over what the reader has'),
    base_at: At.describe('the moment from which the other times are counted'),
    names: z.array(z.string()).describe('words that columns name by index'),
    traces: TraceColumns.describe('those of the spans below and those that changed, each once'),
    spans: SpanColumns.describe('by trace, the newest or the oldest first, and in it in the order of the walk'),
    others: z
      .array(z.object({ session_id: z.uuid(), trace_id: z.uuid(), span_id: z.uuid() }))
      .describe('spans that columns refer to and that are not in this answer: unchanged ones, or of another session'),
    links: LinkColumns.describe(
      'all that touch a span of this answer, and always those to and from other sessions; a reader replaces those that it has of either',
    ),
    next_cursor: NextCursor.describe('the rest of the same answer; absent on its last page'),
  })
  .openapi('Outline', { examples: [outlineExample] });
export type Outline = z.infer<typeof Outline>;
