/** OpenAI's refusals and usage, which are the same in each of its formats. */
import type { Mishap, Refused } from './script.ts';

export const openaiError = (status: number, type: string, code: string | null, message: string): Refused => ({
  status,
  document: { error: { message, type, param: null, code } },
});

export const openaiMishaps: Record<Mishap, Refused> = {
  busy: openaiError(429, 'requests', 'rate_limit_exceeded', 'Rate limit reached for requests'),
  refused: openaiError(400, 'invalid_request_error', 'invalid_value', 'The question is malformed'),
  overloaded: openaiError(500, 'server_error', null, 'The server had an error while processing your request'),
};

/** Tokens of a call; a later call of a conversation has most of its input in the cache. */
export const counted = (follows: boolean) =>
  follows ? { input: 1100, cached: 1000, output: 20 } : { input: 1000, cached: 400, output: 30 };
