/** Prepares a call of the journal for storing: the proxy's records of it as an exchange to be read and sliced. */

import type { Exchange } from '../../call/exchange.ts';
import { identityOf } from '../../call/identity.ts';
import type { JournalCall } from '../../capture/journal-format.ts';
import { type OpenedExchange, openExchange, type Prepared, type PrepareMemory } from './prepare-exchange.ts';

/** Reads the head of a call's request; a call that was too large to be stored is counted, whatever it holds. */
export function openCall(call: JournalCall, memory: PrepareMemory): OpenedExchange {
  const { requested_at: at, provider } = call.opened;
  if (call.closed?.over_limit) {
    const prepared: Prepared = { kind: 'counted', counted: { at, provider, outcome: 'over_limit' } };
    return { continuation: { response_id: '', conversation: null }, prepared: () => prepared };
  }
  return openExchange(exchangeOf(call), (skeleton) => identityOf(call.opened, skeleton), memory);
}

/** A call that was open when its run ended has no end, and its copy may be incomplete. */
const exchangeOf = ({ opened, request, answered, response, closed }: JournalCall): Exchange => ({
  svc_proxy_request_id: opened.svc_proxy_request_id,
  request_id: null,
  client_key: opened.client_key,
  provider: opened.provider,
  format: opened.format,
  method: opened.method,
  url: opened.url,
  status: answered?.status ?? null,
  ending: closed?.ending ?? 'crashed',
  requested_at: opened.requested_at,
  first_byte_at: answered?.first_byte_at ?? null,
  last_byte_at: closed?.last_byte_at ?? null,
  request,
  request_bytes: closed?.request_bytes ?? request.byteLength,
  request_headers: opened.headers,
  response,
  response_bytes: closed?.response_bytes ?? response.byteLength,
  response_headers: answered?.headers ?? null,
  keep: opened.keep,
  whole: closed?.cut === 'none',
  meta: closed && closed.cut !== 'none' ? { cut: closed.cut } : {},
});
