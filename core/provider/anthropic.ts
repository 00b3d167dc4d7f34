/** Anthropic. */
import type { PromptSection } from '../model/cache-break.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import type { Caching } from './caching.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { defineProvider } from './provider.ts';

export const anthropic = defineProvider({
  id: 'anthropic',
  formats: [anthropicMessages],
  alsoServes: [openaiChat, openaiResponses],
  formatOf: () => anthropicMessages,
  basePath: '',
  clients: (base) => [['Anthropic SDK', `ANTHROPIC_BASE_URL=${base}`]],
  libraries: [
    ['anthropic-js', /^Anthropic\w{0,20}\/JS ([\w.+-]+)/],
    ['anthropic-python', /^(?:Async)?Anthropic\w{0,20}\/Python ([\w.+-]+)/],
  ],
  paths: /^\/v1\/(?:messages(?:\/.*)?|complete)$/,
  noTurn: ['/count_tokens', '/(batches|files|skills)(/.*)?'],
  key: /^sk-ant-/,
  keyHeader: 'x-api-key',
  ownHeader: 'anthropic-version',
  errorBody: (status, message) =>
    JSON.stringify({ type: 'error', error: { type: ERRORS[status] ?? 'api_error', message } }),
  pricing: {
    list: 'anthropic',
    listed: (model) => model,
    cacheWrites: { for5m: '1.25', for1h: '2' },
  },
  caching: ({ model, format }) =>
    format === anthropicMessages.id && model.toLowerCase().includes('claude-') ? byMarks : null,
});

/** As the page 'Prompt caching' of its documentation has it. */
const byMarks: Caching = {
  by: 'marks',
  reach: 20,
  least: (model) => LEAST.find(([models]) => models.test(model))?.[1] ?? 1_024,
  scopeOf: (parameter) => SCOPES[parameter] ?? 'tools',
};

const LEAST: readonly (readonly [models: RegExp, tokens: number])[] = [
  [/opus-4[-.][567]|haiku-4[-.]5/i, 4_096],
  [/sonnet-4[-.]6|(?:3[-.]5-|3-)haiku|haiku-3/i, 2_048],
];

const SCOPES: Record<string, PromptSection> = { tool_choice: 'messages', thinking: 'messages', speed: 'system' };

const ERRORS: Record<number, string> = { 404: 'not_found_error', 421: 'invalid_request_error' };
