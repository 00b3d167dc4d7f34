/** The terms on which OpenAI billed, the same in each of its formats: it reports the tier beside the usage, and its tools only as calls. */
import type { Reply } from '../model/reply.ts';
import type { Terms } from '../model/terms.ts';
import { fields, tokens } from './json.ts';
import { commonTerms, hostedCalls } from './terms.ts';

export function openaiTerms({
  usage_verbatim,
  service_tier = '',
  search_tool = '',
  model,
  content,
}: Pick<Reply, 'usage_verbatim' | 'service_tier' | 'search_tool' | 'model' | 'content'>): Terms {
  const usage = fields(usage_verbatim);
  const details = [usage.prompt_tokens_details, usage.completion_tokens_details].map(fields);
  const terms = commonTerms(usage, content);
  const hosted = hostedCalls(content).map(({ tool_name = '' }) => tool_name);
  return {
    ...terms,
    service_tier: service_tier || terms.service_tier,
    preview_searches: search_tool.startsWith(SEARCH_PREVIEW) && NOT_REASONING.test(model) ? terms.web_searches : 0,
    file_searches: hosted.filter((name) => name === 'file_search').length,
    unlisted_fees: hosted.some((name) => UNLISTED.has(name)),
    audio_tokens: details.map(({ audio_tokens }) => tokens(audio_tokens) ?? 0).reduce((a, b) => a + b),
  };
}

export const SEARCH_PREVIEW = 'web_search_preview'; // its versions have a date behind the name

/** On a model that reasons, a preview has the fee of `web_search` (https://platform.openai.com/docs/pricing, 'Web search preview'). */
const NOT_REASONING = /^(?:ft:)?gpt-4(?:o|\.1)(?![a-z\d])/;

/**
 * A container is billed by its session of 20 minutes, in which other calls run too; a picture by tokens of another model, which the
 * usage leaves out (https://platform.openai.com/docs/pricing). A computer and MCP servers have no fee.
 */
const UNLISTED = new Set(['code_interpreter', 'shell', 'image_generation']);
