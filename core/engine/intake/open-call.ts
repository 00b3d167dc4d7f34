/** A call of the journal, opened: the proxy's records of it as an exchange. */

import type { Exchange } from '../../call/exchange.ts';
import { identityOf } from '../../call/identity.ts';
import type { CallMemory } from '../../call/memory.ts';
import { type OpenedExchange, openExchange } from '../../call/open-exchange.ts';
import { keyedDigest } from '../../capture/client-key.ts';
import type { CallOpened, JournalCall } from '../../capture/journal-format.ts';

/** @param identityKey of the installation: with it the client is hashed */
export const openCall = (call: JournalCall, memory: CallMemory, identityKey: Uint8Array): OpenedExchange =>
  openExchange(exchangeOf(call, identityKey), (skeleton) => identityOf(call.opened, skeleton), memory);

/** A call that was open when its run ended has no end, and its copy may be incomplete. */
const exchangeOf = (
  { opened, request, responseHead, response, closed }: JournalCall,
  identityKey: Uint8Array,
): Exchange => ({
  svc_proxy_request_id: opened.svc_proxy_request_id,
  request_id: null,
  ...clientOf(opened, identityKey),
  provider: opened.provider,
  format: opened.format,
  method: opened.method,
  url: opened.url,
  status: responseHead?.status ?? null,
  ending: closed?.ending ?? 'crashed',
  requested_at: opened.requested_at,
  first_byte_at: responseHead?.first_byte_at ?? null,
  last_byte_at: closed?.last_byte_at ?? null,
  request,
  request_bytes: closed?.request_bytes ?? request.byteLength,
  request_headers: opened.headers,
  response,
  response_bytes: closed?.response_bytes ?? response.byteLength,
  response_headers: responseHead?.headers ?? null,
  keep: opened.keep,
  whole: closed?.cut === 'none',
  over_limit: closed?.over_limit ?? false,
  meta: closed && closed.cut !== 'none' ? { cut: closed.cut } : {},
});

function clientOf(
  { client_digest, client_key }: CallOpened,
  identityKey: Uint8Array,
): Pick<Exchange, 'client_key' | 'former_client_key'> {
  if (client_digest === undefined) return { client_key };
  return { client_key: keyedDigest(identityKey, client_digest), ...(client_key && { former_client_key: client_key }) };
}
