/** Opens an exchange: parses its request once, as far as the head, which names the call that it continues. */
import { SESSION_HEADERS, threadOf } from '../harness/harnesses.ts';
import { wordOf } from '../model/headers.ts';
import type { Identity } from '../model/identity.ts';
import type { Exchange } from './exchange.ts';
import { boundedId, sessionId } from './identity.ts';
import type { CallMemory } from './memory.ts';
import { cutLike, noRequest, type OpenedRequest, openRequest } from './open-request.ts';
import type { Continuation } from './previous-call.ts';

/** An exchange whose request is open. `identity`: of its session, the provider's id of the conversation included. */
export type OpenedExchange = {
  exchange: Exchange;
  request: OpenedRequest;
  identity: Identity;
  continuation: Continuation;
};

/** @param identityOf the identity by the headers and the parsed body with its cut arrays empty; null when it cannot be read */
export function openExchange(
  exchange: Exchange,
  identityOf: (skeleton: Record<string, unknown> | null) => Identity,
  memory: CallMemory,
): OpenedExchange {
  const request = openedRequest(exchange, memory);
  const declared = identityOf(request.skeleton);
  const conversation_id = boundedId(request.head?.conversation_id ?? '');
  const identity = { ...declared, harness_session_id: declared.harness_session_id || conversation_id };
  const session_id = sessionId(identity.harness_id, identity.harness_session_id);
  const conversation = conversation_id === '' ? null : { session_id, conversation_id, before: exchange.requested_at };
  return {
    ...{ exchange, request, identity },
    continuation: {
      response_id: boundedId(request.head?.previous_response_id ?? ''),
      conversation,
      references: request.references,
    },
  };
}

function openedRequest(exchange: Exchange, memory: CallMemory): OpenedRequest {
  const { keep, format, over_limit, url, request: bytes, request_headers: headers } = exchange;
  if (keep !== 'full' || over_limit) return noRequest;
  const key = bodyKey(exchange);
  const cut = (body: Uint8Array) => {
    const made = cutLike(body, memory.bodies.get(key) ?? null);
    memory.bodies.set(key, made);
    return made;
  };
  return openRequest(format && memory.reader.formatById(format), { bytes, headers, url }, cut);
}

/** Bodies under one key are likely to begin alike: those of one thread of a client. */
const bodyKey = ({ client_key, request_headers: headers }: Exchange): string =>
  [client_key, ...SESSION_HEADERS.map((name) => wordOf(headers, name)), threadOf(headers)].join(' ');
