/** The terms on which a call was billed: what an answer holds about its price besides its counts of tokens. */
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import { fields, text, tokens } from '../provider/json.ts';

export type Terms = {
  service_tier: string; // `standard`, `priority`, `batch`, `flex` …; '' when unknown, as with the next two
  speed: string; // Anthropic's `standard` and `fast`
  inference_geo: string; // Anthropic's `global` and `us`
  web_searches: number; // run by the provider, billed apiece
  audio_tokens: number; // within the input and the output
  other_models: boolean; // a model besides the answering one took part in the call, such as Anthropic's advisor; its tokens are not counted
};

/** OpenAI reports the tier beside its usage, and its searches only as tool calls. */
export const termsOf = ({ usage_verbatim, service_tier, content }: Reply): Terms =>
  termsIn(usage_verbatim, service_tier, content.filter(isSearch).length);

const isSearch = ({ type, tool_name }: ContentBlock) => type === 'server_tool_use' && tool_name === 'web_search';

/**
 * @param verbatim the usage object as the provider reported it
 * @param service_tier where the answer has it outside that object
 * @param searches in the answer's content; the usage's own count takes precedence
 */
export function termsIn(verbatim: unknown, service_tier = '', searches = 0): Terms {
  const usage = fields(verbatim);
  const details = [usage.prompt_tokens_details, usage.completion_tokens_details].map(fields);
  const iterations = Array.isArray(usage.iterations) ? usage.iterations.map(fields) : [];
  return {
    service_tier: service_tier || text(usage.service_tier),
    speed: text(usage.speed),
    inference_geo: text(usage.inference_geo),
    web_searches: tokens(fields(usage.server_tool_use).web_search_requests) ?? searches,
    audio_tokens: details.map(({ audio_tokens }) => tokens(audio_tokens) ?? 0).reduce((a, b) => a + b),
    other_models: iterations.some(({ type }) => !OWN_ITERATIONS.has(text(type))),
  };
}

const OWN_ITERATIONS = new Set(['', 'message', 'compaction']);
