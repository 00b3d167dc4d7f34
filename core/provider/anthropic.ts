/** Anthropic. */
import { anthropicMessages } from './anthropic-messages.ts';
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
});

const ERRORS: Record<number, string> = { 404: 'not_found_error', 421: 'invalid_request_error' };
