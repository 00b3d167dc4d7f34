/** The wire formats. A call's is recognised by method and path; null for everything that is no conversation turn. */
import type { FormatId } from '../model/provider.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import type { WireFormat } from './format.ts';
import { ollamaChat } from './ollama-chat.ts';
import { ollamaGenerate } from './ollama-generate.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

/** All that we read. They match different paths, so their order does not matter. */
export const formats: readonly WireFormat[] = [
  anthropicMessages,
  openaiChat,
  openaiResponses,
  ollamaChat,
  ollamaGenerate,
];

/** `path` is a path name without query and without our provider prefix; any prefix of a gateway's own may stand before. */
export const formatOf = (method: string, path: string): WireFormat | null =>
  formats.find((format) => format.matches(method, path)) ?? null;

const byId: Record<FormatId, WireFormat> = {
  'anthropic.messages': anthropicMessages,
  'openai.chat': openaiChat,
  'openai.responses': openaiResponses,
  'ollama.chat': ollamaChat,
  'ollama.generate': ollamaGenerate,
};

export const formatById = (id: FormatId): WireFormat => byId[id];
