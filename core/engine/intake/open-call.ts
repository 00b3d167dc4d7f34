/** A call of the journal, opened: the proxy's records of it as an exchange. */

import type { Exchange } from '../../call/exchange.ts';
import { identityOf } from '../../call/identity.ts';
import type { CallMemory } from '../../call/memory.ts';
import { type OpenedExchange, openExchange } from '../../call/open-exchange.ts';
import type { JournalCall } from '../../capture/journal-format.ts';

export const openCall = (call: JournalCall, memory: CallMemory): OpenedExchange =>
  openExchange(exchangeOf(call), (skeleton) => identityOf(call.opened, skeleton), memory);

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
  over_limit: closed?.over_limit ?? false,
  meta: closed && closed.cut !== 'none' ? { cut: closed.cut } : {},
});
