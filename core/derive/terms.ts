/** On which terms was a call billed? What an answer says of its price besides its counts of tokens. */
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import { fields, text, tokens } from '../provider/json.ts';

export type Terms = {
  service_tier: string; // `standard`, `priority`, `batch`, `flex` …; '' when not told, as is the case with the next two
  speed: string; // Anthropic's `standard` and `fast`
  inference_geo: string; // Anthropic's `global` and `us`
  web_searches: number; // run by the provider, billed apiece
  audio_tokens: number; // within the input and the output
  other_models: boolean; // a model besides the answering one worked for the call, such as Anthropic's advisor; its tokens are not counted
};

/** OpenAI tells the tier beside its usage, and its searches by their calls alone. */
export const termsOf = ({ usage_verbatim, service_tier, content }: Reply): Terms =>
  termsIn(usage_verbatim, service_tier, content.filter(isSearch).length);

const isSearch = ({ type, tool_name }: ContentBlock) => type === 'server_tool_use' && tool_name === 'web_search';

/**
 * @param verbatim the usage object as the provider reported it
 * @param service_tier where the answer tells it outside that object
 * @param searches that the answer shows; what the usage says of them counts before it
 */
export function termsIn(verbatim: unknown, service_tier = '', searches = 0): Terms {
  const told = fields(verbatim);
  const details = [told.prompt_tokens_details, told.completion_tokens_details].map(fields);
  const iterations = Array.isArray(told.iterations) ? told.iterations.map(fields) : [];
  return {
    service_tier: service_tier || text(told.service_tier),
    speed: text(told.speed),
    inference_geo: text(told.inference_geo),
    web_searches: tokens(fields(told.server_tool_use).web_search_requests) ?? searches,
    audio_tokens: details.map(({ audio_tokens }) => tokens(audio_tokens) ?? 0).reduce((a, b) => a + b),
    other_models: iterations.some(({ type }) => !OWN_ITERATIONS.has(text(type))),
  };
}

const OWN_ITERATIONS = new Set(['', 'message', 'compaction']);
