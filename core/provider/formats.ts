/** Which wire format is a call in? Told from method and path; null for everything that is no conversation turn. */
import type { FormatId } from '../model/provider.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import type { WireFormat } from './format.ts';
import { openaiChat } from './openai-chat.ts';

/** All that we read. They match different paths, so their order does not matter. */
export const formats: readonly WireFormat[] = [anthropicMessages, openaiChat];

/** `path` is a path name without query and without our provider prefix; any prefix of a gateway's own may stand before. */
export const formatOf = (method: string, path: string): WireFormat | null =>
  formats.find((format) => format.matches(method, path)) ?? null;

const byId: Record<FormatId, WireFormat> = { 'anthropic.messages': anthropicMessages, 'openai.chat': openaiChat };

export const formatById = (id: FormatId): WireFormat => byId[id];
