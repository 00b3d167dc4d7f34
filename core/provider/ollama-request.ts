/** The head of an Ollama request: what it asks for apart from its messages, the same in both of Ollama's formats. */
import type { RequestHead } from '../model/reply.ts';
import { fields, limit, text } from './json.ts';

/** Ollama streams unless told not to. A `num_predict` of -1 (no limit) or -2 (what the context holds) is no limit of ours. */
export const ollamaHead = (skeleton: Record<string, unknown>, counts: { tools: number }): RequestHead => ({
  model: text(skeleton.model),
  stream: skeleton.stream !== false,
  max_tokens: limit(fields(skeleton.options).num_predict) || null,
  tool_count: counts.tools,
  conversation_id: '',
  previous_response_id: '',
});
