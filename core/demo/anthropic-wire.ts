/** Anthropic Messages as they look on the wire: requests as Claude Code sends them, answers as Anthropic streams them. */
import { type DemoLine, type DemoUsage, type NumberedAnswer, pieces, toolCallId, type Wire } from './script.ts';

export type AnthropicBlock = { type: string } & Record<string, unknown>;
export type AnthropicMessage = { role: 'user' | 'assistant'; content: AnthropicBlock[] };

export const anthropicWire: Wire = {
  provider: 'anthropic',
  path: '/v1/messages?beta=true',
  contentType: 'text/event-stream; charset=utf-8',
  request: (script, history) => ({
    model: script.model,
    max_tokens: 32_000,
    stream: true,
    thinking: { type: 'adaptive' },
    system: [{ type: 'text', text: script.system, cache_control: CACHED }],
    tools: script.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    messages: cachedUpTo(history.flatMap((line) => messagesOf(script.slug, line))),
    metadata: { user_id: JSON.stringify({ session_id: `demo-${script.slug}` }) },
  }),
  answer(answer, { slug, model, n, spent }) {
    return messageStream({ id: `${slug}_${n}`, model, spent }, blocksOf(slug, answer));
  },
  refusal: ({ type, message }, { slug, n }) => errorBody(`${slug}_${n}`, type, message),
};

export const errorBody = (id: string, type: string, message: string): string =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: `req_demo_${id}` });

/** An answer as it streams. @param id the part of its id after `msg_demo_` */
export function messageStream(
  { id, model, spent }: { id: string; model: string; spent: DemoUsage },
  blocks: AnthropicBlock[],
) {
  const message = { id: `msg_demo_${id}`, type: 'message', role: 'assistant', model };
  const stop_reason = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  return [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage: inputUsage(spent) },
    },
    ...blocks.flatMap(streamed),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: spent.output },
    },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

export const CACHED = { type: 'ephemeral' };

/** The mark that says how far the provider may cache is on the last block, and moves with each call. */
export function cachedUpTo(messages: AnthropicMessage[]): AnthropicMessage[] {
  return messages.map((message, i) => {
    if (i < messages.length - 1) return message;
    const content = message.content.map((block, j) =>
      j === message.content.length - 1 ? { ...block, cache_control: CACHED } : block,
    );
    return { ...message, content };
  });
}

function messagesOf(slug: string, line: DemoLine): AnthropicMessage[] {
  if (line.kind === 'asks') return [{ role: 'user', content: [{ type: 'text', text: line.text }] }];
  const results = line.uses.map(({ result, failed }, i) => ({
    type: 'tool_result',
    tool_use_id: toolCallId('toolu', slug, line.n, i),
    content: result,
    ...(failed && { is_error: true }),
  }));
  return [
    { role: 'assistant', content: blocksOf(slug, line) },
    ...(results.length > 0 ? [{ role: 'user' as const, content: results }] : []),
  ];
}

const blocksOf = (slug: string, { thinking, text, uses, n }: NumberedAnswer): AnthropicBlock[] => [
  ...(thinking ? [{ type: 'thinking', thinking, signature: signature(slug, n) }] : []),
  ...(text ? [{ type: 'text', text }] : []),
  ...uses.map(({ tool, input }, i) => ({
    type: 'tool_use',
    id: toolCallId('toolu', slug, n, i),
    name: tool,
    input,
  })),
];

export const signature = (slug: string, n: number) => Buffer.from(`demo ${slug} ${n}`).toString('base64');

/** What the provider has cached costs less to read, what it caches now costs more; a few tokens are neither. */
const inputUsage = ({ input, cached }: DemoUsage) => {
  const fresh = 4;
  const written = input - cached - fresh;
  return {
    input_tokens: fresh,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    output_tokens: 1,
  };
};

const streamed = (block: AnthropicBlock, index: number): AnthropicBlock[] => [
  { type: 'content_block_start', index, content_block: emptied(block) },
  ...deltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

function emptied(block: AnthropicBlock): AnthropicBlock {
  if (block.type === 'tool_use') return { ...block, input: {} };
  return block.type === 'thinking' ? { type: 'thinking', thinking: '', signature: '' } : { type: block.type, text: '' };
}

function deltas(block: AnthropicBlock): AnthropicBlock[] {
  if (block.type === 'tool_use')
    return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  if (block.type === 'thinking')
    return [
      ...pieces(String(block.thinking)).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: block.signature },
    ];
  return pieces(String(block.text)).map((text) => ({ type: 'text_delta', text }));
}
