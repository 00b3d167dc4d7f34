/** The number of a retry, from the header in which the SDKs of Anthropic and OpenAI send it. */
import { type HeaderList, headerOf } from '../model/headers.ts';

/** How many attempts of the same request came before this one; 0 where the client does not say. */
export function retryCount(requestHeaders: HeaderList): number {
  const value = headerOf(requestHeaders, 'x-stainless-retry-count') ?? '';
  return /^\d{1,6}$/.test(value) ? Number(value) : 0;
}
