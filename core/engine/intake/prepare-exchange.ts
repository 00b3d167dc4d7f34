/** Prepares a call for storing: its turn, read and sliced, whoever captured it; or why it is none. Pure except for its cache. */
import { LRUCache } from 'lru-cache';
import { callIdOf, type Exchange } from '../../call/exchange.ts';
import { boundedId, sessionId } from '../../call/identity.ts';
import { outcomeOf } from '../../call/outcome.ts';
import {
  type CutRequest,
  decodedRequest,
  type Preceding,
  type ReadingMemory,
  type ReadTurn,
  readingMemory,
  readTurn,
  requestHead,
} from '../../call/read-call.ts';
import { builtIn, type Reader } from '../../call/reader.ts';
import { headerTemplate } from '../../capture/header-template.ts';
import { makeRecipe } from '../../capture/recipe.ts';
import { cutAfter, type KnownCut } from '../../capture/shared-slices.ts';
import { sliceId } from '../../capture/slice-codec.ts';
import { skeletonOf } from '../../capture/slices.ts';
import type { PreparedTurn } from '../../db/store/append-turns.ts';
import type { CountedRequest } from '../../db/store/count-coverage.ts';
import type { ConversationUpTo } from '../../db/store/previous-answers.ts';
import { threadOf } from '../../harness/harnesses.ts';
import { headersDigest } from '../../merkle/turn-chain.ts';
import { type HeaderList, headerOf, wordOf } from '../../model/headers.ts';
import type { Identity } from '../../model/identity.ts';
import type { RequestHead } from '../../model/reply.ts';
import { Unreadable } from '../../provider/format.ts';
import { messageArrays } from '../../provider/formats.ts';

/** A slice to be stored, not packed yet. */
export type LooseSlice = { slice_id: string; bytes: Uint8Array };

/** `slices` holds all that the turn refers to, stored already or not. */
export type Prepared =
  | { kind: 'turn'; turn: PreparedTurn; slices: LooseSlice[] }
  | { kind: 'counted'; counted: CountedRequest };

/** A cache of what earlier calls yielded. It saves work and changes no result. */
export type PrepareMemory = {
  reader: Reader;
  readings: ReadingMemory;
  bodies: LRUCache<string, KnownCut & { ids: string[] }>;
};

export const prepareMemory = (reader: Reader = builtIn): PrepareMemory => ({
  reader,
  readings: readingMemory(),
  bodies: new LRUCache({ max: 64, maxSize: 67_108_864, sizeCalculation: ({ body }) => body.byteLength + 1 }),
});

/** An earlier call whose answer a request names. `session_id` is null while that call waits for a session of its own. */
export type PreviousCall = { call_id: string; session_id: string | null; answer: Preceding | null };

/**
 * What a request continues where the provider keeps the conversation: an answer by its id, '' when it names none, or else the last
 * answer of a conversation.
 */
export type Continuation = { response_id: string; conversation: ConversationUpTo | null };

/** A call that has been read as far as its request's head. */
export type OpenedExchange = {
  continuation: Continuation;
  prepared(previous: PreviousCall | null): Prepared;
};

export function openExchange(
  exchange: Exchange,
  identityOf: (skeleton: Record<string, unknown> | null) => Identity,
  memory: PrepareMemory,
): OpenedExchange {
  const { keep, format } = exchange;
  const decoded =
    keep === 'full' ? decodedRequest(exchange.request, exchange.request_headers) : { body: null, undecoded: null };
  const cut = decoded.body && cutRequest(decoded.body, bodyKey(exchange), memory);
  const skeleton = cut && skeletonIn(cut);
  const head = cut && skeleton && format ? headIn(memory.reader, exchange, skeleton, cut) : null;
  const declared = identityOf(skeleton);
  const conversation_id = boundedId(head?.conversation_id ?? '');
  const sessionIdentity = { ...declared, harness_session_id: declared.harness_session_id || conversation_id };
  return {
    continuation: {
      response_id: boundedId(head?.previous_response_id ?? ''),
      conversation:
        conversation_id === ''
          ? null
          : {
              session_id: sessionId(sessionIdentity.harness_id, sessionIdentity.harness_session_id),
              conversation_id,
              before: exchange.requested_at,
            },
    },
    prepared: (previous) => {
      const throughProxy = exchange.svc_proxy_request_id !== null;
      if (throughProxy && exchange.ending === 'crashed' && exchange.status === null && !skeleton)
        return counted(exchange, 'crashed'); // not even the request is whole
      const predecessor = previous && continues(sessionIdentity, previous) ? previous : null;
      const identity = predecessor ? { ...sessionIdentity, continues_call_id: predecessor.call_id } : sessionIdentity;
      const read = readExchange(
        exchange,
        identity,
        { cut, undecoded: decoded.undecoded, after: predecessor?.answer ?? null },
        memory,
      );
      if (throughProxy && read.asks_nothing) return counted(exchange, 'not_a_turn');
      return turnOf(exchange, identity, cut, read);
    },
  };
}

/** A session that has a name of its own continues only its own calls. */
const continues = ({ harness_id, harness_session_id }: Identity, { session_id }: PreviousCall) =>
  harness_session_id === '' || session_id === sessionId(harness_id, harness_session_id);

const counted = (exchange: Exchange, outcome: CountedRequest['outcome']): Prepared => ({
  kind: 'counted',
  counted: { at: exchange.requested_at, provider: exchange.provider, outcome },
});

function readExchange(
  exchange: Exchange,
  { harness_id, agent_name, project }: Identity,
  { cut, undecoded, after }: { cut: RequestCut | null; undecoded: string | null; after: Preceding | null },
  { reader, readings }: PrepareMemory,
): ReadTurn {
  const { format, url, provider, requested_at, last_byte_at, response, response_headers } = exchange;
  const facts = {
    format,
    call_id: callIdOf(exchange),
    url,
    harness_id,
    provider,
    agent_name,
    project,
    requested_at,
    last_byte_at,
  };
  const answer = response_headers && { bytes: response, headers: response_headers };
  return readTurn(reader, facts, { request: cut, undecoded, answer }, readings, after);
}

function turnOf(exchange: Exchange, identity: Identity, cut: RequestCut | null, read: ReadTurn): Prepared {
  const { response, keep } = exchange;
  const request = requestRecipe(exchange.request, cut);
  const requestHeaders = storedHeaders(exchange.request_headers);
  const responseHeaders = exchange.response_headers && storedHeaders(exchange.response_headers);
  const response_slice = response.byteLength > 0 ? sliceId(response) : null;
  const { reply: _r, unreadable: _u, answer_unreadable: _a, own_slices, asks_nothing: _n, ...nodes } = read;
  const turn: PreparedTurn = {
    svc_proxy_request_id: exchange.svc_proxy_request_id,
    request_id: exchange.request_id,
    call_id: callIdOf(exchange),
    client_key: exchange.client_key,
    identity,
    retry: Number(headerOf(exchange.request_headers, 'x-stainless-retry-count')) > 0,
    requested_at: exchange.requested_at,
    nodes,
    outcome: outcomeOf({ ...exchange, ...read, streamed: read.call.stream }),
    ending: exchange.ending,
    provider: exchange.provider,
    format: exchange.format ?? '',
    method: exchange.method,
    url: exchange.url,
    status: exchange.status,
    first_byte_at: exchange.first_byte_at,
    last_byte_at: exchange.last_byte_at,
    request_headers: requestHeaders.stored,
    response_headers: responseHeaders?.stored ?? null,
    request: { roots: request.roots, depth: request.depth, bytes: exchange.request_bytes, digest: request.digest },
    response: { slice: response_slice, bytes: exchange.response_bytes, digest: response_slice },
    meta: {
      ...exchange.meta,
      ...(read.unreadable !== null && { request_unreadable: read.unreadable }),
      ...(read.answer_unreadable !== null && { answer_unreadable: read.answer_unreadable }),
      ...(keep !== 'full' && { kept: keep }),
    },
  };
  const slices = [...request.slices, ...own_slices, requestHeaders.slice];
  if (responseHeaders) slices.push(responseHeaders.slice);
  if (response_slice) slices.push({ slice_id: response_slice, bytes: response });
  return { kind: 'turn', turn, slices };
}

/** Bodies under one key are likely to begin alike: those of one thread of a client. */
const bodyKey = ({ client_key, request_headers: headers }: Exchange): string =>
  [client_key, ...SESSION_HEADERS.map((name) => wordOf(headers, name)), threadOf(headers)].join(' ');

const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'x-session-id'];

type RequestCut = CutRequest & { pieces: KnownCut['pieces'] };

function cutRequest(body: Uint8Array, key: string, { bodies }: PrepareMemory): RequestCut {
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
  return whereReadable(() => skeletonOf(body, pieces));
}

function headIn(
  { formatById }: Reader,
  { format, url }: Exchange,
  skeleton: Record<string, unknown>,
  cut: CutRequest,
): RequestHead | null {
  return format && whereReadable(() => requestHead(formatById(format), skeleton, cut, url));
}

/** null where the bytes are invalid: the reason is found when the call is read. */
function whereReadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/** The recipe of the bytes as they came. Under a content coding they are one slice, and the messages in them additional slices. */
function requestRecipe(bytes: Uint8Array, cut: RequestCut | null) {
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
