/** Contexts of calls, as the read API answers them, of as little as a test needs. */
import type { CallContext, ContextBlock } from '../../core/model/call-context.ts';

export function contextBlock(n: number, over: Partial<ContextBlock> = {}): ContextBlock {
  const path = `messages[${n}].content[0]`;
  return {
    ...{
      n,
      id: `id of ${path}`,
      section: 'messages',
      path,
      role: 'user',
      kind: 'user',
      label: `block ${n}`,
      bytes: 100,
    },
    ...{ tokens: 10, basis: 'billed', billed_as: 'read', since: 1, span: null },
    ...over,
  };
}

export function callContext(blocks: ContextBlock[], over: Partial<CallContext> = {}): CallContext {
  const input_tokens = blocks.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  return {
    ...{ raw_turn_id: 2, session_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', thread_id: '', model: 'm', provider: 'p' },
    ...{ reach: 'whole', window_tokens: null, unattributed_tokens: 0, parameters: [], marks: [], blocks },
    usage: {
      ...{ input_tokens, cache_read_tokens: 0, cache_write_5m_tokens: 0, cache_write_1h_tokens: 0, output_tokens: 1 },
      cost_usd: null,
    },
    ...{ against: null, break: null },
    ...over,
  };
}
