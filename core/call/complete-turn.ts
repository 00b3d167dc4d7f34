/** Completes an opened call: reads it to its end, beneath the call that it continues, and makes the turn that is stored; or says why it is none. */
import { isUtf8 } from 'node:buffer';
import { headerTemplate } from '../capture/header-template.ts';
import { makeRecipe } from '../capture/recipe.ts';
import { sliceId } from '../capture/slice-codec.ts';
import { headersDigest } from '../merkle/turn-chain.ts';
import type { Outcome } from '../model/coverage.ts';
import type { HeaderList } from '../model/headers.ts';
import type { Identity } from '../model/identity.ts';
import type { CallNodes } from '../model/node.ts';
import { messageArrays } from '../provider/formats.ts';
import { retryCount } from '../provider/retry-count.ts';
import { callIdOf, type Exchange } from './exchange.ts';
import type { CallMemory } from './memory.ts';
import type { OpenedExchange } from './open-exchange.ts';
import type { CutRequest } from './open-request.ts';
import { outcomeOfNoTurn, outcomeOfTurn } from './outcome.ts';
import type { CountedRequest, PreparedTurn } from './prepared-turn.ts';
import { continues, type PreviousCall } from './previous-call.ts';
import { type ReadCall, readCall } from './read-call.ts';

/** A slice to be stored, not packed yet. */
export type LooseSlice = { slice_id: string; bytes: Uint8Array };

/** `slices` holds all that the turn refers to, stored already or not. */
export type Prepared =
  | { kind: 'turn'; turn: PreparedTurn; slices: LooseSlice[] }
  | { kind: 'counted'; counted: CountedRequest };

/** @param previous the call that `continuation` of the opened exchange names; null: none is known */
export function completeTurn(
  { exchange, request, identity: declared }: OpenedExchange,
  previous: PreviousCall | null,
  memory: CallMemory,
): Prepared {
  const copied = { ...exchange, throughProxy: exchange.svc_proxy_request_id !== null };
  const unread = outcomeOfNoTurn(copied, request.skeleton !== null, null);
  if (unread) return counted(exchange, unread);
  const predecessor = previous && continues(declared, previous) ? previous : null;
  const identity = predecessor ? { ...declared, continues_call_id: predecessor.call_id } : declared;
  const { harness_id, agent_name, project } = identity;
  const { response, response_headers } = exchange;
  const slice_id = response.byteLength > 0 ? sliceId(response) : '';
  const read = readCall(
    memory.reader,
    { ...exchange, call_id: callIdOf(exchange), harness_id, agent_name, project },
    { request, answer: response_headers && { bytes: response, slice_id, headers: response_headers } },
    memory.readings,
    predecessor?.answer ?? null,
  );
  const outcome = outcomeOfNoTurn(copied, request.skeleton !== null, read);
  return outcome ? counted(exchange, outcome) : turnOf(exchange, identity, { cut: request.cut, slice_id }, read);
}

const counted = ({ requested_at: at, provider }: Exchange, outcome: Outcome): Prepared => ({
  kind: 'counted',
  counted: { at, provider, outcome },
});

function turnOf(
  exchange: Exchange,
  identity: Identity,
  { cut, slice_id }: { cut: CutRequest | null; slice_id: string },
  read: ReadCall,
): Prepared {
  const { response, ending, status, whole, keep } = exchange;
  const { unreadable, reply, answer_unreadable } = read;
  const request = requestRecipe(exchange.request, cut);
  const requestHeaders = storedHeaders(exchange.request_headers);
  const responseHeaders = exchange.response_headers && storedHeaders(exchange.response_headers);
  const response_slice = slice_id === '' ? null : slice_id;
  const nodes: CallNodes = {
    call: read.call,
    messages: read.messages,
    answer: read.answer,
    call_id: read.call_id,
    model: read.model,
    provider: read.provider,
    agent_name: read.agent_name,
    project: read.project,
    stop_reason: read.stop_reason,
    usage: read.usage,
    cost_usd: read.cost_usd,
    cost_parts: read.cost_parts,
    requested_at: read.requested_at,
    answered_at: read.answered_at,
  };
  const turn: PreparedTurn = {
    svc_proxy_request_id: exchange.svc_proxy_request_id,
    request_id: exchange.request_id,
    call_id: callIdOf(exchange),
    client_key: exchange.client_key,
    ...(exchange.former_client_key && { former_client_key: exchange.former_client_key }),
    identity,
    retry: retryCount(exchange.request_headers) > 0,
    requested_at: exchange.requested_at,
    nodes,
    outcome: outcomeOfTurn({
      ...{ ending, status, whole, keep, unreadable, reply, answer_unreadable },
      streamed: read.call.stream,
    }),
    ending,
    provider: exchange.provider,
    format: exchange.format ?? '',
    method: exchange.method,
    url: exchange.url,
    status,
    first_byte_at: exchange.first_byte_at,
    last_byte_at: exchange.last_byte_at,
    request_headers: requestHeaders.stored,
    response_headers: responseHeaders?.stored ?? null,
    request: {
      ...{ roots: request.roots, depth: request.depth, digest: request.digest },
      bytes: exchange.request_bytes,
      is_utf8: isUtf8(exchange.request),
    },
    response: { slice: response_slice, bytes: exchange.response_bytes, digest: response_slice },
    meta: {
      ...exchange.meta,
      ...(unreadable !== null && { request_unreadable: unreadable }),
      ...(answer_unreadable !== null && { answer_unreadable }),
      ...(keep !== 'full' && { kept: keep }),
    },
  };
  const slices = [...request.slices, ...read.own_slices, requestHeaders.slice];
  if (responseHeaders) slices.push(responseHeaders.slice);
  if (response_slice) slices.push({ slice_id: response_slice, bytes: response });
  return { kind: 'turn', turn, slices };
}

/** The recipe of the bytes as they came. Under a content coding they are one slice, and the messages in them additional slices. */
function requestRecipe(bytes: Uint8Array, cut: CutRequest | null) {
  const slices: LooseSlice[] = (cut?.pieces ?? []).map(({ start, end }, index) => ({
    slice_id: cut?.ids[index] ?? '',
    bytes: cut?.body.subarray(start, end) ?? bytes,
  }));
  const digest = sliceId(bytes);
  if (cut?.body !== bytes) {
    const messages = cut ? messageSlices(cut) : [];
    const whole = bytes.byteLength > 0 ? [{ slice_id: digest, bytes }] : [];
    return { roots: whole.map(({ slice_id }) => slice_id), depth: 0, digest, slices: [...messages, ...whole] };
  }
  const { pages, roots, depth } = makeRecipe(
    cut.pieces.map(({ section }, index) => ({ section, slice_id: cut.ids[index] ?? '' })),
  );
  return { roots, depth, digest, slices: [...slices, ...pages] };
}

/** The pieces that nodes name, of a body that is stored under its content coding. */
export const messageSlices = ({ body, pieces, ids }: CutRequest): LooseSlice[] =>
  pieces.flatMap(({ section, start, end }, index) =>
    section !== null && messageArrays.includes(section)
      ? [{ slice_id: ids[index] ?? '', bytes: body.subarray(start, end) }]
      : [],
  );

function storedHeaders(headers: HeaderList) {
  const { slice_id, bytes, values } = headerTemplate(headers);
  return { stored: { template: slice_id, values, digest: headersDigest(headers) ?? '' }, slice: { slice_id, bytes } };
}
