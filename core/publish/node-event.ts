/** The event that is published of a node that was stored for the first time: `svc.node.v1`. A member may be added; none changes its meaning. */
import { z } from 'zod';
import type { NewNode } from '../db/store/new-nodes.ts';
import { MessageRole } from '../model/bucket.ts';
import { CallKind } from '../model/call-kind.ts';
import { ContentBlock } from '../model/content-block.ts';
import { Usage } from '../model/usage.ts';

export const SCHEMA = 'svc.node.v1';

/** Of an event as JSON, in UTF-8. Brokers refuse more than about a million bytes at once, unless they are told otherwise. */
export const MAX_EVENT_BYTES = 900_000;

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const At = z.iso.datetime().describe('UTC, with microseconds');

const example = {
  schema: SCHEMA,
  root_hash: 'af300c6bb7b341e43949236e3a34c210e868664b3c07a8287ca74a5943863bd5',
  session_id: '16dd8bce-b2a0-59a6-9baa-d811643b8fe4',
  occurred_at: '2026-11-21T09:30:01.204511Z',
  node: {
    hash: '1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014',
    parent_hash: 'af300c6bb7b341e43949236e3a34c210e868664b3c07a8287ca74a5943863bd5',
    depth: 1,
    role: 'assistant',
    injected: '',
    content: [{ type: 'text', text: 'Hello' }],
    content_omitted: null,
    stop_reason: 'end_turn',
    usage: {
      input_tokens: 12,
      output_tokens: 3,
      cache_read_tokens: 0,
      cache_write_5m_tokens: 0,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 0,
    },
    cost_usd: 0.000081,
  },
  call: {
    raw_turn_id: 9803,
    call_id: '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11',
    kind: 'main',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
    harness_id: 'acme',
    thread_id: '',
    agent_name: 'acme-coder',
    project: 'atlas',
  },
} as const;

export const NodeEvent = z
  .object({
    schema: z.literal(SCHEMA),
    root_hash: Hash.describe('the first message of the conversation; the key of the message on the broker'),
    session_id: z.uuid().describe('as stored; a session may be merged into another one afterwards'),
    occurred_at: At.describe('when the call was made, or for an answer its last byte; also the time of the message'),
    node: z.object({
      hash: Hash.describe('over the content and the parent; a conversation that is forked has it in each session'),
      parent_hash: Hash.nullable().describe('null: nothing comes before it'),
      depth: z.int().nonnegative().describe('the number of its ancestors'),
      role: MessageRole,
      injected: z.string().describe("the kind of context that a harness inserted; '' is conversation"),
      content: z.array(ContentBlock).nullable().describe('null: see content_omitted'),
      content_omitted: z
        .enum(['too-large', 'unavailable'])
        .nullable()
        .describe('why there is no content: read it at /v1/raw_turns/<raw_turn_id>; unavailable: it was not kept'),
      stop_reason: z.string(),
      usage: Usage.nullable().describe('of an answer; null for a message of a request'),
      cost_usd: z.number().nullable().describe('of an answer; null: not priced'),
    }),
    call: z
      .object({
        raw_turn_id: z.int(),
        call_id: z.string(),
        kind: CallKind,
        provider: z.string(),
        model: z.string(),
        harness_id: z.string(),
        thread_id: z.string().describe("'' is the main thread"),
        agent_name: z.string(),
        project: z.string(),
      })
      .describe('the earliest call that holds the message'),
  })
  .meta({ examples: [example] });
export type NodeEvent = z.infer<typeof NodeEvent>;

/** The JSON Schema for consumers, which stands in `svc.node.v1.schema.json` beside this file. */
export function nodeEventSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(NodeEvent, { io: 'input' });
  return { $schema, title: `${SCHEMA}: a node of a conversation that was stored for the first time`, ...rest };
}

export type NodeContent = { content: ContentBlock[]; content_omitted: null } | Omitted;
export type Omitted = { content: null; content_omitted: 'too-large' | 'unavailable' };

export function nodeEvent(node: NewNode, root_hash: string, content: NodeContent): NodeEvent {
  const isAnswer = node.slice_id === null;
  return {
    schema: SCHEMA,
    root_hash,
    session_id: node.session_id,
    occurred_at: node.created_at,
    node: {
      hash: node.node_hash,
      parent_hash: node.parent_hash,
      depth: node.depth,
      role: node.role,
      injected: node.injected,
      ...content,
      stop_reason: node.stop_reason,
      usage: isAnswer ? usageOf(node) : null,
      cost_usd: node.cost_usd === null ? null : Number(node.cost_usd),
    },
    call: {
      raw_turn_id: node.raw_turn_id,
      call_id: node.call_id,
      kind: node.call_kind,
      provider: node.provider,
      model: node.model,
      harness_id: node.harness_id,
      thread_id: node.thread_id,
      agent_name: node.agent_name,
      project: node.project,
    },
  };
}

const usageOf = (node: NewNode): Usage => ({
  input_tokens: node.input_tokens,
  output_tokens: node.output_tokens,
  cache_read_tokens: node.cache_read_tokens,
  cache_write_5m_tokens: node.cache_write_5m_tokens,
  cache_write_1h_tokens: node.cache_write_1h_tokens,
  reasoning_tokens: node.reasoning_tokens,
});

/** An event as it goes to the broker, without its content where that makes it larger than brokers take. */
export function eventText(event: NodeEvent): string {
  const text = JSON.stringify(event);
  if (text.length <= MAX_EVENT_BYTES / 3 || Buffer.byteLength(text) <= MAX_EVENT_BYTES) return text;
  return JSON.stringify({ ...event, node: { ...event.node, content: null, content_omitted: 'too-large' } });
}
