/** The errors that we answer in a provider's place: in the provider's own shape, so that its SDKs understand them. */
import type { ProviderId } from '../model/provider.ts';

/** An error document in the shape of `provider`, whose word for the kind of error depends on the status. */
export function errorBody(provider: ProviderId, status: number, message: string): string {
  switch (provider) {
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: { type: ANTHROPIC[status] ?? 'api_error', message } });
    case 'openai':
      return JSON.stringify({ error: { message, type: OPENAI[status] ?? 'upstream_error', code: null, param: null } });
    case 'ollama':
      return JSON.stringify({ error: message });
  }
}

const ANTHROPIC: Record<number, string> = { 404: 'not_found_error', 421: 'invalid_request_error' };
const OPENAI: Record<number, string> = { 404: 'invalid_request_error', 421: 'invalid_request_error' };
