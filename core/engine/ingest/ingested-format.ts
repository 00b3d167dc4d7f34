/** The format of an ingested call and the URL it was sent to: from its path, else from what its request looks like. */
import type { FormatId, ProviderId } from '../../model/provider.ts';
import { formatOf } from '../../provider/formats.ts';
import type { Fields } from '../../provider/json.ts';
import { redactUrl } from '../../redaction/url.ts';

/** A path counts only if the provider serves it: all serve OpenAI's formats, Ollama serves Anthropic's as well. */
export function ingestedFormat(provider: ProviderId, method: string, path: unknown, request: Fields): FormatId {
  const format = formatOf(method, originForm(path).replace(/[?#].*/s, ''));
  const isServed = format?.provider === provider || format?.provider === 'openai';
  if (format && (isServed || (provider === 'ollama' && format.provider === 'anthropic'))) return format.id;
  const has = (key: string) => request[key] !== undefined && request[key] !== null;
  switch (provider) {
    case 'anthropic':
      return 'anthropic.messages';
    case 'openai':
      return (has('input') || has('previous_response_id')) && !has('messages') ? 'openai.responses' : 'openai.chat';
    case 'ollama':
      return has('messages') ? 'ollama.chat' : 'ollama.generate';
  }
}

const USUAL: Record<FormatId, string> = {
  'anthropic.messages': '/v1/messages',
  'openai.chat': '/v1/chat/completions',
  'openai.responses': '/v1/responses',
  'ollama.chat': '/api/chat',
  'ollama.generate': '/api/generate',
};

const MAX_URL = 2048;
/** Longer than any request line: the rest is cut off, since searching it for keys could take hours. */
const MAX_PATH = 16_384;

/** A path as its sender stated it, without the keys in its query. */
export const redactedPath = (path: string): string => redactUrl(path.slice(0, MAX_PATH));

/** Path and query as they may be stored; without a path, the usual one of the format. */
export const ingestedUrl = (path: unknown, format: FormatId | null): string =>
  redactedPath(originForm(path)).slice(0, MAX_URL) || (format ? USUAL[format] : '/');

/** Without scheme and host; '' for what is no path that a request line can have. */
function originForm(path: unknown): string {
  const target = typeof path === 'string' ? path.replace(/^https?:\/\/[^/?#]*/i, '') : '';
  return /^\/[\x21-\x7e]*$/.test(target) ? target : '';
}
