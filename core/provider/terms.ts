/** The terms of a bill that the formats of several providers report alike. Each format reads its own, and these where they are its. */
import type { ContentBlock } from '../model/content-block.ts';
import { ordinaryTerms, type Terms } from '../model/terms.ts';
import { fields, text, tokens } from './json.ts';

/** The tier within the usage, and the searches, where these are counted. */
export const commonTerms = (usage: Record<string, unknown>, content: readonly ContentBlock[]): Terms => ({
  ...ordinaryTerms,
  service_tier: text(usage.service_tier),
  web_searches:
    tokens(fields(usage.server_tool_use).web_search_requests) ?? hostedCalls(content).filter(isSearch).length,
});

/** Calls of the provider's own tools. A tool of an MCP server may have any name: its call is known by the id that OpenAI's format gives it. */
export const hostedCalls = (content: readonly ContentBlock[]): ContentBlock[] =>
  content.filter(({ type, tool_use_id = '' }) => type === 'server_tool_use' && !tool_use_id.startsWith('mcp_call_'));

/** OpenAI's tool also opens pages and looks through them, which has no fee; other providers' have no kind of action. */
const isSearch = ({ tool_name, tool_input }: ContentBlock) =>
  tool_name === 'web_search' && ['', 'search'].includes(text(fields(tool_input).type));
