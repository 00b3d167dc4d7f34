/** The terms on which OpenAI billed, the same in each of its formats: it reports the tier beside the usage, and searches only as tool calls. */
import type { Reply } from '../model/reply.ts';
import type { Terms } from '../model/terms.ts';
import { fields, tokens } from './json.ts';
import { commonTerms } from './terms.ts';

export function openaiTerms({
  usage_verbatim,
  service_tier = '',
  content,
}: Pick<Reply, 'usage_verbatim' | 'service_tier' | 'content'>): Terms {
  const usage = fields(usage_verbatim);
  const details = [usage.prompt_tokens_details, usage.completion_tokens_details].map(fields);
  const terms = commonTerms(usage, content);
  return {
    ...terms,
    service_tier: service_tier || terms.service_tier,
    audio_tokens: details.map(({ audio_tokens }) => tokens(audio_tokens) ?? 0).reduce((a, b) => a + b),
  };
}
