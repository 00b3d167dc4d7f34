/** What does a client read when we cannot reach its provider? An error in the provider's own shape, so that its SDK understands. */
import type { ProviderId } from '../core/model/provider.ts';

/** An error document in the shape of `provider`. */
export function failureBody(provider: ProviderId, message: string): string {
  switch (provider) {
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: { type: 'api_error', message } });
    case 'openai':
      return JSON.stringify({ error: { message, type: 'upstream_error', code: null, param: null } });
    case 'ollama':
      return JSON.stringify({ error: message });
  }
}

/** Why an upstream could not be reached, by the system's own code: an error's text may hold addresses and headers. */
export function unreachable(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code ?? firstCode(error);
  return `Cannot reach the upstream: ${(code && REASONS[code]) ?? code ?? 'the connection failed'}`;
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections (ECONNREFUSED)',
  ECONNRESET: 'it closed the connection before it answered (ECONNRESET)',
  EPIPE: 'it closed the connection before it answered (EPIPE)',
  ETIMEDOUT: 'it did not answer in time (ETIMEDOUT)',
  ENOTFOUND: 'its host name is unknown (ENOTFOUND)',
  EAI_AGAIN: 'its host name cannot be looked up now (EAI_AGAIN)',
  EPROXY: 'the forward proxy in between refused the tunnel (EPROXY)',
  HPE_HEADER_OVERFLOW: 'the headers of its answer are too large (HPE_HEADER_OVERFLOW)',
};

/** Several addresses tried: the errors stand inside. */
const firstCode = (error: Error): string | undefined =>
  error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException | undefined)?.code : undefined;
