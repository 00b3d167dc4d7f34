/** The context of a call: the blocks that the model saw, in cache order, and what has changed since another call. */
import { z } from '@hono/zod-openapi';
import { CacheBreak, PromptSection } from './cache-break.ts';

export const BLOCK_KINDS = [
  'tool-definition',
  'instructions',
  'user',
  'assistant',
  'thinking',
  'tool-call',
  'tool-result',
  'injected',
  'image',
  'held', // not in this request: the provider held it (previous_response_id, a message thread, or an earlier message of the socket)
  'other',
] as const;
export const BlockKind = z.enum(BLOCK_KINDS);
export type BlockKind = z.infer<typeof BlockKind>;

export const ContextBlock = z.object({
  n: z.int().describe('place in cache order, 0 first'),
  id: z.string().describe('SHA-256 of the canonical JSON (RFC 8785) of the block without `cache_control`, in hex'),
  section: PromptSection,
  path: z.string().describe('in the request, such as `messages[3].content[1]`; "" for what the provider held'),
  role: z.string(),
  kind: BlockKind,
  label: z.string().describe('a name, or the first 120 characters'),
  bytes: z.int().describe('of its JSON in the request, UTF-8'),
  tokens: z.int().nullable(),
  basis: z
    .enum(['billed', 'shared', 'none'])
    .describe(
      "billed: the provider's count is of this block alone; shared: its count is of several, divided by their sizes; none: no count",
    ),
  billed_as: z.enum(['read', 'write', 'fresh', 'mixed']).nullable(),
  since: z.int().nullable().describe('raw_turn_id of the first call of the session that sent it'),
  span: z.object({ trace_id: z.uuid(), span_id: z.uuid() }).nullable().describe('the span that shows it'),
});
export type ContextBlock = z.infer<typeof ContextBlock>;

export const ContextChange = z
  .object({
    op: z.enum(['add', 'remove', 'change', 'move']),
    before: z.int().optional().describe('block of the other call; absent for add'),
    after: z.int().optional().describe('block of this call; absent for remove'),
    path: z.string().optional().describe('of a change: the first member that differs, such as `tools[14].description`'),
    at: z.int().optional().describe('of a change: the first character of that member that differs, in UTF-16 units'),
  })
  .describe('what is in neither list of changes is the same block, in the same order');
export type ContextChange = z.infer<typeof ContextChange>;

export const CallContext = z
  .object({
    raw_turn_id: z.int(),
    session_id: z.uuid(),
    thread_id: z.string(),
    model: z.string(),
    provider: z.string(),
    reach: z.enum(['whole', 'tail']).describe('tail: of what the provider held, not all is recorded'),
    window_tokens: z.int().nullable().describe("the model's context window, where it is known"),
    usage: z
      .object({
        input_tokens: z.int(),
        cache_read_tokens: z.int(),
        cache_write_5m_tokens: z.int(),
        cache_write_1h_tokens: z.int(),
        output_tokens: z.int(),
        cost_usd: z.number().nullable(),
      })
      .nullable(),
    unattributed_tokens: z
      .int()
      .describe('billed, and not in the bytes: the tokens of all blocks and these are `usage.input_tokens`'),
    parameters: z.array(
      z.object({
        name: z.string(),
        value: z.string().describe('as JSON; "" where only the other call has it'),
        same: z.boolean().nullable().describe('null: nothing to compare'),
      }),
    ),
    marks: z.array(z.object({ block: z.int(), ttl: z.enum(['5m', '1h']) })).describe('cache marks of the client'),
    blocks: z.array(ContextBlock),
    against: z
      .object({
        raw_turn_id: z.int(),
        common: z.int().describe('blocks that both begin with'),
        common_tokens: z.int().nullable(),
        blocks: z.array(
          ContextBlock.pick({
            n: true,
            id: true,
            section: true,
            path: true,
            role: true,
            kind: true,
            label: true,
            bytes: true,
          }),
        ),
        changes: z.array(ContextChange),
      })
      .nullable(),
    break: CacheBreak.nullable().describe('why less was read from the cache than the provider held; null: it was not'),
  })
  .openapi('CallContext', {
    examples: [
      {
        raw_turn_id: 12,
        session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10',
        thread_id: '',
        model: 'claude-sonnet-4-5',
        provider: 'anthropic',
        reach: 'whole',
        window_tokens: 200_000,
        usage: {
          input_tokens: 412,
          cache_read_tokens: 0,
          cache_write_5m_tokens: 0,
          cache_write_1h_tokens: 0,
          output_tokens: 96,
          cost_usd: 0.002_676,
        },
        unattributed_tokens: 0,
        parameters: [{ name: 'max_tokens', value: '8192', same: null }],
        marks: [],
        blocks: [
          {
            n: 0,
            id: '3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
            section: 'messages',
            path: 'messages[0].content',
            role: 'user',
            kind: 'user',
            label: 'The adder drops its carry, please look into it',
            bytes: 1_604,
            tokens: 412,
            basis: 'shared',
            billed_as: 'fresh',
            since: 12,
            span: { trace_id: '0c2a4d5e-6f70-5182-93a4-b5c6d7e8f901', span_id: '1d3b5e6f-7081-5293-a4b5-c6d7e8f90112' },
          },
        ],
        against: null,
        break: null,
      },
    ],
  });
export type CallContext = z.infer<typeof CallContext>;

/** GET /v1/raw_turns/{id}/blocks/{n} */
export const BlockContent = z
  .object({
    n: z.int(),
    id: z.string(),
    path: z.string(),
    json: z.unknown().describe('the block as the request has it'),
    text: z.string().nullable().describe('its text, where it has one'),
    exact: z.boolean().describe('false: characters that JSON cannot hold were replaced'),
  })
  .openapi('BlockContent', {
    examples: [
      {
        n: 41,
        id: '3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
        path: 'messages[3].content[1]',
        json: { type: 'text', text: 'The carry is now passed on.' },
        text: 'The carry is now passed on.',
        exact: true,
      },
    ],
  });
export type BlockContent = z.infer<typeof BlockContent>;
