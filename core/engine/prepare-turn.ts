/** What is to be stored of a call out of the journal? Its turn, read and sliced, or the reason why it is none. Pure but for its memory. */
import { LRUCache } from 'lru-cache';
import { headerTemplate } from '../capture/header-template.ts';
import { headerOf, wordOf } from '../capture/headers.ts';
import { identityOf } from '../capture/identity.ts';
import type { HeaderList, JournalCall } from '../capture/journal-format.ts';
import { makeRecipe } from '../capture/recipe.ts';
import { cutAfter, type KnownCut } from '../capture/shared-slices.ts';
import { sliceId } from '../capture/slice-codec.ts';
import { skeletonOf } from '../capture/slices.ts';
import { threadOf } from '../capture/thread.ts';
import type { PreparedTurn } from '../db/append-turns.ts';
import type { BookedRequest } from '../db/book-coverage.ts';
import { headersDigest } from '../merkle/turn-chain.ts';
import type { Outcome } from '../model/coverage.ts';
import { Unreadable } from '../provider/format.ts';
import {
  type CutRequest,
  decodedRequest,
  type ReadingMemory,
  type ReadTurn,
  readingMemory,
  readTurn,
} from './read-turn.ts';

/** A slice to be stored, still as it is. */
export type LooseSlice = { slice_id: string; bytes: Uint8Array };

/** `slices` holds all that the turn refers to, known or not. */
export type Prepared =
  | { kind: 'turn'; turn: PreparedTurn; slices: LooseSlice[] }
  | { kind: 'booked'; booked: BookedRequest };

/** What was learnt from earlier calls. It saves work and changes no result. */
export type PrepareMemory = { readings: ReadingMemory; bodies: LRUCache<string, KnownCut & { ids: string[] }> };

export const prepareMemory = (): PrepareMemory => ({
  readings: readingMemory(),
  bodies: new LRUCache({ max: 64, maxSize: 67_108_864, sizeCalculation: ({ body }) => body.byteLength + 1 }),
});

export function prepareTurn(call: JournalCall, memory: PrepareMemory): Prepared {
  const { opened, answered, closed } = call;
  const { requested_at, provider } = opened;
  const booked = (outcome: Outcome): Prepared => ({ kind: 'booked', booked: { at: requested_at, provider, outcome } });
  if (closed?.over_limit) return booked('over_limit');

  const kept = opened.keep === 'full';
  const decoded = kept ? decodedRequest(call.request, opened.headers) : { body: null, undecoded: null };
  const cut = decoded.body && cutRequest(decoded.body, bodyKey(call), memory);
  const skeleton = cut && skeletonIn(cut);
  if (closed === null && !answered && !skeleton) return booked('crashed'); // not even the request is whole

  const identity = identityOf(opened, skeleton);
  const read = readTurn(
    {
      format: opened.format,
      call_id: opened.svc_proxy_request_id,
      provider,
      agent_name: identity.agent_name,
      project: identity.project,
      requested_at,
      last_byte_at: closed?.last_byte_at ?? null,
    },
    cut,
    answered && { bytes: call.response, headers: answered.headers },
    memory.readings,
    decoded.undecoded,
  );
  const request = keptRequest(call.request, cut);
  const requestHeaders = keptHeaders(opened.headers);
  const responseHeaders = answered && keptHeaders(answered.headers);
  const response_slice = call.response.byteLength > 0 ? sliceId(call.response) : null;
  const turn: PreparedTurn = {
    svc_proxy_request_id: opened.svc_proxy_request_id,
    client_key: opened.client_key,
    identity,
    retry: Number(headerOf(opened.headers, 'x-stainless-retry-count')) > 0,
    requested_at,
    nodes: nodesIn(read),
    outcome: outcomeOf(call, read),
    ending: closed?.ending ?? 'crashed',
    provider,
    format: opened.format,
    method: opened.method,
    url: opened.url,
    status: answered?.status ?? null,
    first_byte_at: answered?.first_byte_at ?? null,
    last_byte_at: closed?.last_byte_at ?? null,
    request_headers: requestHeaders.kept,
    response_headers: responseHeaders?.kept ?? null,
    request: {
      roots: request.roots,
      depth: request.depth,
      bytes: closed?.request_bytes ?? call.request.byteLength,
      digest: request.digest,
    },
    response: {
      slice: response_slice,
      bytes: closed?.response_bytes ?? call.response.byteLength,
      digest: response_slice,
    },
    meta: {
      ...(read.unreadable !== null && { request_unreadable: read.unreadable }),
      ...(read.answer_unreadable !== null && { answer_unreadable: read.answer_unreadable }),
      ...(closed && closed.cut !== 'none' && { cut: closed.cut }),
      ...(!kept && { kept: opened.keep }),
    },
  };
  const slices = [...request.slices, ...read.own_slices, requestHeaders.slice];
  if (responseHeaders) slices.push(responseHeaders.slice);
  if (response_slice) slices.push({ slice_id: response_slice, bytes: call.response });
  return { kind: 'turn', turn, slices };
}

/** `captured` is what is whole and was read; a request that cannot be read is kept all the same. */
function outcomeOf(
  { opened, answered, closed }: JournalCall,
  { reply, unreadable, answer_unreadable }: ReadTurn,
): Outcome {
  if (closed?.ending !== 'complete' || closed.cut !== 'none' || answered === null) return 'partial';
  if (opened.keep === 'metadata') return 'captured';
  if (unreadable !== null) return 'undecodable';
  const succeeded = answered.status >= 200 && answered.status < 300;
  return succeeded && (answer_unreadable !== null || !reply?.complete) ? 'partial' : 'captured';
}

/** Bodies under one key are likely to begin alike: those of one thread of a client. */
const bodyKey = ({ opened: { client_key, headers } }: JournalCall): string =>
  [client_key, wordOf(headers, 'x-claude-code-session-id') || wordOf(headers, 'x-session-id'), threadOf(headers)].join(
    ' ',
  );

type KeptCut = CutRequest & { pieces: KnownCut['pieces'] };

function cutRequest(body: Uint8Array, key: string, { bodies }: PrepareMemory): KeptCut {
  const previous = bodies.get(key) ?? null;
  const { pieces, regular, same } = cutAfter(body, previous);
  const ids = pieces.map(({ start, end }, index) => {
    const known = previous?.ids[same[index] ?? -1];
    return known ?? sliceId(body.subarray(start, end));
  });
  bodies.set(key, { body, pieces, regular, ids });
  return { body, pieces, ids };
}

function skeletonIn({ body, pieces }: CutRequest): Record<string, unknown> | null {
  try {
    return skeletonOf(body, pieces);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/** The recipe of the bytes as they came. Under a content coding they are one slice, and the messages in them slices besides. */
function keptRequest(bytes: Uint8Array, cut: KeptCut | null) {
  const slices: LooseSlice[] = (cut?.pieces ?? []).map(({ start, end }, index) => ({
    slice_id: cut?.ids[index] ?? '',
    bytes: cut?.body.subarray(start, end) ?? bytes,
  }));
  const digest = sliceId(bytes);
  if (cut?.body !== bytes) {
    const messages = slices.filter((_, index) => ['messages', 'input'].includes(cut?.pieces[index]?.section ?? ''));
    const whole = bytes.byteLength > 0 ? [{ slice_id: digest, bytes }] : [];
    return { roots: whole.map(({ slice_id }) => slice_id), depth: 0, digest, slices: [...messages, ...whole] };
  }
  const { pages, roots, depth } = makeRecipe(
    cut.pieces.map(({ section }, index) => ({ section, slice_id: cut.ids[index] ?? '' })),
  );
  return { roots, depth, digest, slices: [...slices, ...pages] };
}

function keptHeaders(headers: HeaderList) {
  const { slice_id, bytes, values } = headerTemplate(headers);
  return { kept: { template: slice_id, values, digest: headersDigest(headers) ?? '' }, slice: { slice_id, bytes } };
}

function nodesIn({ reply: _r, unreadable: _u, answer_unreadable: _a, own_slices: _o, ...nodes }: ReadTurn) {
  return nodes;
}
