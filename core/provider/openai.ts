/** OpenAI, and the many servers that speak its formats. */
import type { Caching } from './caching.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { defineProvider } from './provider.ts';

export const openai = defineProvider({
  id: 'openai',
  formats: [openaiChat, openaiResponses],
  alsoServes: [],
  formatOf(request) {
    const has = (key: string) => request[key] !== undefined && request[key] !== null;
    return (has('input') || has('previous_response_id')) && !has('messages') ? openaiResponses : openaiChat;
  },
  basePath: '/v1',
  clients: (base) => [['OpenAI SDK', `OPENAI_BASE_URL=${base}`]],
  libraries: [
    ['openai-js', /^(?:Azure)?OpenAI\/JS ([\w.+-]+)/],
    ['openai-python', /^(?:Async)?(?:Azure)?OpenAI\/Python ([\w.+-]+)/],
  ],
  paths: /^\/v1\/(?:chat\/completions|completions|responses(?:\/.*)?|embeddings|models(?:\/.*)?)$/,
  noTurn: [
    '/(input_tokens|tokenize|detokenize|moderations|rerank|score)',
    '/(embed|embedd?ings)',
    '/(batches|files|uploads|vector_stores|containers|fine_tuning|evals|assistants|conversations|skills)(/.*)?',
    '/threads(?!(/[^/]+)?/runs/?$|/.+/submit_tool_outputs/?$)(/.*)?', // these run a model
    '/responses/(?!compact/?$).+', // cancel, input_tokens …; compact runs a model
    '/(images|audio|videos|realtime)(/.*)?',
    '/models(/[^:]*)?',
  ],
  key: /^sk-/,
  keyHeader: null,
  ownHeader: null,
  errorBody: (status, message) =>
    JSON.stringify({ error: { message, type: ERRORS[status] ?? 'upstream_error', code: null, param: null } }),
  pricing: {
    list: 'openai',
    listed: (model) => (SOLD_BY_OTHERS.test(model) || BILLED_BY_CALL.test(model) ? '' : model),
    cacheWrites: null,
  },
  caching: ({ model }) => (CACHED.test(model) && !SOLD_BY_OTHERS.test(model) ? bySteps : null),
});

/** As the guide 'Prompt caching' of its documentation has it: for gpt-4o and newer models. Other servers that speak its formats do not say. */
const CACHED = /^(?:ft:)?(?:gpt-(?:4o|4\.[1-9]|[5-9])|chatgpt-4o|o[1-9]|codex-mini)/i;

const bySteps: Caching = {
  by: 'steps',
  least: 1_024,
  step: 128,
  idle: (retention) =>
    retention === '24h' ? { usual_ms: DAY_MS, most_ms: DAY_MS } : { usual_ms: 5 * MINUTE_MS, most_ms: 60 * MINUTE_MS },
  scopeOf: () => 'tools',
};

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const ERRORS: Record<number, string> = { 404: 'invalid_request_error', 421: 'invalid_request_error' };

/** Open weights, which OpenAI does not serve: the list has another seller's price, and a runner at home has none. */
const SOLD_BY_OTHERS = /^gpt-oss/i;

/** Models that search the web on each call, for a fee that their answers do not report. */
const BILLED_BY_CALL = /-search-(?:preview|api)/i;
