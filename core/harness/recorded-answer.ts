/** An answer that a harness recorded in its own terms, in the shape of a provider's. */
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import type { Usage } from '../model/usage.ts';
import type { FormatId } from '../provider/formats.ts';
import { assertShallow, type Fields, fields, isFields, text, tokens } from '../provider/json.ts';

/** `input` without what the cache gave and took; `output` with the reasoning. */
type RecordedUsage = { input: unknown; output: unknown; cacheRead: unknown; cacheWrite: unknown; reasoning: unknown };

export function recordedUsage({ input, output, cacheRead, cacheWrite, reasoning }: RecordedUsage): Usage {
  const [read, write, written] = [tokens(cacheRead) ?? 0, tokens(cacheWrite) ?? 0, tokens(output) ?? 0];
  return {
    input_tokens: (tokens(input) ?? 0) + read + write,
    output_tokens: written,
    cache_read_tokens: read,
    cache_write_5m_tokens: write,
    cache_write_1h_tokens: 0,
    reasoning_tokens: Math.min(tokens(reasoning) ?? 0, written),
  };
}

type RecordedReply = Pick<Reply, 'content' | 'model' | 'response_id' | 'stop_reason' | 'usage'> & {
  usage_verbatim: unknown;
};

export const recordedReply = (recorded: RecordedReply): Reply => ({ ...recorded, complete: true, error: null });

/** Whether there is anything of an answer: words, or tokens that were billed. */
export const isAnswer = ({ content, usage }: Pick<Reply, 'content' | 'usage'>): boolean =>
  content.length > 0 || (usage !== null && usage.input_tokens + usage.output_tokens > 0);

/** The format of a provider's calls, by the word that a harness has for the provider or for its API. */
export function formatOfProvider(word: string): FormatId {
  if (/anthropic|bedrock/i.test(word)) return 'anthropic.messages';
  if (/google|gemini|vertex/i.test(word)) return 'gemini.generate';
  return /responses/i.test(word) ? 'openai.responses' : 'openai.chat';
}

/** @throws {Unreadable} its input is nested too deep */
export function toolUse(tool_use_id: string, tool_name: string, tool_input: unknown): ContentBlock {
  assertShallow(tool_input, 'a tool call in a transcript');
  return { type: 'tool_use', tool_use_id, tool_name, tool_input: tool_input ?? {} };
}

export const toolResult = (tool_result_id: string, tool_output: string, isError: boolean): ContentBlock => ({
  ...{ type: 'tool_result', tool_result_id, tool_output },
  ...(isError && { is_error: true }),
});

/** Blocks of `{ type: 'text', text }` and `{ type: 'image', data, mimeType }`, or a text. Others are left out. */
export function plainBlocks(content: unknown): ContentBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.map(fields).flatMap((block: Fields): ContentBlock[] => {
    if (block.type === 'text' && text(block.text) !== '') return [{ type: 'text', text: text(block.text) }];
    if (block.type !== 'image' || text(block.data) === '') return [];
    return [{ type: 'image', image_base64: text(block.data), media_type: text(block.mimeType) }];
  });
}

/** The texts among blocks, a line each. */
export const textsIn = (blocks: readonly ContentBlock[]): string =>
  blocks.flatMap((block) => (block.type === 'text' && block.text ? [block.text] : [])).join('\n');

export const objectsIn = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);
