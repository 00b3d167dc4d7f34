/** Reads a captured call: its messages as a chain of hashes, what it asked for, and what was answered. */
import { LRUCache } from 'lru-cache';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { sliceId } from '../capture/slice-codec.ts';
import { type Piece, parseElement, skeletonOf } from '../capture/slices.ts';
import type { CallTraits } from '../harness/harness.ts';
import { callPurpose, injectedKind, surroundingsOf } from '../harness/harnesses.ts';
import { agentName } from '../harness/libraries.ts';
import { noSurroundings } from '../harness/surroundings.ts';
import { chain } from '../merkle/chain.ts';
import { canonicalContent } from '../merkle/projection.ts';
import type { Message, MessageRole } from '../model/bucket.ts';
import { type HeaderList, headerOf } from '../model/headers.ts';
import type { CallNodes, LinkedMessage } from '../model/node.ts';
import type { Reply, RequestHead } from '../model/reply.ts';
import { noUsage } from '../model/usage.ts';
import { echoed } from '../provider/echoed.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import type { FormatId } from '../provider/formats.ts';
import { providerKey } from './call-key.ts';
import { boundedId } from './identity.ts';
import { messageOf, messageSlice } from './message-slice.ts';
import { type AnswerBytes, readAnswer } from './read-answer.ts';
import type { Reader } from './reader.ts';
import { noTraits, traitsOf } from './traits.ts';

/** What is known of a call without reading its bodies. Instants are UTC with microseconds. */
export type CallFacts = {
  format: FormatId | null; // null: none that we can read
  call_id: string;
  url?: string; // path and query, of which a format may read what the request asks for
  harness_id: string;
  provider: string;
  agent_name: string;
  project: string;
  requested_at: string;
  last_byte_at: string | null;
};

/** A request's decoded body with its pieces and their slice ids. */
export type CutRequest = { body: Uint8Array; pieces: readonly Piece[]; ids: readonly string[] };

/** The bodies to be read. `request` null: its body was not stored, or cannot be decoded, and `undecoded` then says why. */
export type CallBodies = { request: CutRequest | null; undecoded: string | null; answer: AnswerBytes | null };

/** The answer that a request continues without repeating it. */
export type Preceding = { node_hash: string; depth: number };

export type ReadTurn = CallNodes & {
  reply: Reply | null;
  unreadable: string | null; // why the request cannot be read; never quotes it
  answer_unreadable: string | null;
  asks_nothing: boolean; // no model was asked for anything
  own_slices: { slice_id: string; bytes: Uint8Array }[]; // of messages that are no single element of the request's array
};

/**
 * A cache of what was read before. `messages` by (format, parent, slices): the same objects are returned, so nothing is hashed twice.
 * `recent` are the latest messages by slice, `roles` those of slices, and `texts` the system prompts of calls.
 */
export type ReadingMemory = {
  messages: LRUCache<string, LinkedMessage>;
  roles: LRUCache<string, MessageRole>;
  recent: LRUCache<string, Message>;
  texts: LRUCache<string, string>;
};
export const readingMemory = (messages = 50_000): ReadingMemory => ({
  messages: new LRUCache({ max: messages }),
  roles: new LRUCache({ max: messages }),
  recent: new LRUCache({ max: 256, maxSize: 8_388_608 }),
  texts: new LRUCache({ max: 64, maxSize: 8_388_608, sizeCalculation: (text) => 2 * text.length + 1 }),
});

/**
 * Reads a call. Whatever its bodies hold, there is a result: an unreadable request has no messages, an unreadable answer no leaf.
 * The same call gives the same nodes at any time, so they can be deleted and made again.
 */
export function readTurn(
  { formatById, priceOf }: Reader,
  facts: CallFacts,
  { request, undecoded, answer }: CallBodies,
  memory: ReadingMemory,
  preceding: Preceding | null = null,
): ReadTurn {
  const format = facts.format && formatById(facts.format);
  const parsed =
    format && request
      ? readRequest(format, request, facts.url, memory, preceding)
      : { ...emptyRequest, unreadable: undecoded };
  const { reply, unreadable: answer_unreadable } = format ? readAnswer(format, answer) : unknownFormat;
  const unreadable = format ? parsed.unreadable : unknownFormat.unreadable;
  const tip = parsed.messages.findLast(({ injected }) => injected === '') ?? null;
  const isRead = format && unreadable === null && request;
  const leaf = isRead && reply && reply.content.length > 0 ? leafOf(format, tip ?? preceding, reply) : null;
  const { head } = parsed;
  const model = reply?.model || (head?.model ?? '');
  const usage = reply?.usage ?? null;
  const { harness_id } = facts;
  const traits = head && { harness_id, ...head, ...parsed.traits, reply };
  const { kind, judged } = traits ? callPurpose(traits) : noPurpose;
  const surroundings = traits && kind === 'main' ? surroundingsOf(traits) : noSurroundings;
  return {
    call: {
      tip_hash: tip?.node_hash ?? null,
      leaf_hash: leaf?.node_hash ?? null,
      model: head?.model ?? '',
      stream: head?.stream ?? false,
      max_tokens: head?.max_tokens ?? null,
      tool_count: head?.tool_count ?? 0,
      call_key: reply && facts.format && providerKey(facts.format, { ...reply, request_id: requestIdOf(answer) }),
      response_id: boundedId(reply?.response_id ?? ''),
      previous_response_id: boundedId(head?.previous_response_id ?? ''),
      conversation_id: boundedId(head?.conversation_id ?? ''),
      unreadable: unreadable ?? '',
      kind,
      judged,
      ...surroundings,
    },
    messages: parsed.messages,
    answer: leaf,
    call_id: facts.call_id,
    model,
    provider: facts.provider,
    agent_name: agentName(facts.agent_name, surroundings.agent_name),
    project: facts.project,
    stop_reason: reply?.stop_reason ?? '',
    usage: usage ?? noUsage,
    cost_usd:
      format &&
      reply &&
      usage &&
      (priceOf(facts.provider, model, facts.requested_at, usage, format.terms(reply))?.usd ?? null),
    requested_at: facts.requested_at,
    answered_at: facts.last_byte_at ?? facts.requested_at,
    reply,
    unreadable,
    answer_unreadable,
    asks_nothing: parsed.asks_nothing,
    own_slices: parsed.own_slices,
  };
}

/** Anthropic's own id of the request; ids that a proxy in between gives are not in it. */
const requestIdOf = (answer: AnswerBytes | null): string => (answer && headerOf(answer.headers, 'request-id')) ?? '';

/** The body under its content coding; null, with the reason, when it cannot be decoded whole. */
export function decodedRequest(
  bytes: Uint8Array,
  headers: HeaderList,
): { body: Uint8Array | null; undecoded: string | null } {
  try {
    const { bytes: body, salvaged } = decodeBodySync(bytes, headerOf(headers, 'content-encoding'));
    return salvaged ? { body: null, undecoded: 'Cannot decode a body: it ends early' } : { body, undecoded: null };
  } catch (error) {
    if (error instanceof Undecodable) return { body: null, undecoded: error.message };
    throw error;
  }
}

/** What the request asks for. @throws {Unreadable} */
export function requestHead(
  format: WireFormat,
  skeleton: Record<string, unknown>,
  request: Pick<CutRequest, 'body' | 'pieces'>,
  url = '',
): RequestHead {
  const head = format.requestHead(skeleton, {
    messages: format.messagesKey ? countIn(format.messagesKey, skeleton, request.pieces) : 0,
    tools: toolCount(format, skeleton, request),
  });
  return { ...head, ...format.headInPath?.(url) };
}

/** The tools that the request declares: some formats have several in an element of their array. */
function toolCount(
  { toolsKey, toolsIn }: WireFormat,
  skeleton: Record<string, unknown>,
  { body, pieces }: Pick<CutRequest, 'body' | 'pieces'>,
): number {
  if (!toolsKey) return 0;
  if (!toolsIn) return countIn(toolsKey, skeleton, pieces);
  const cut = pieces.filter(({ section }) => section === toolsKey);
  const left = skeleton[toolsKey];
  const elements = [
    ...cut.map(({ start, end }) => parseElement(body.subarray(start, end))),
    ...(Array.isArray(left) ? left : []),
  ];
  return elements.reduce<number>((sum, element) => sum + toolsIn(element), 0);
}

type ParsedCall = Pick<ReadTurn, 'messages' | 'unreadable' | 'own_slices' | 'asks_nothing'> & {
  head: RequestHead | null;
  traits: Pick<CallTraits, 'system' | 'first' | 'last'>;
};
const emptyRequest: ParsedCall = {
  ...{ messages: [], unreadable: null, own_slices: [], asks_nothing: false },
  ...{ head: null, traits: noTraits },
};
const noPurpose = { kind: 'main', judged: '' } as const;
const unknownFormat = { reply: null, unreadable: 'Cannot read the call: it is in no format that is known here' };

function readRequest(
  format: WireFormat,
  { body, pieces, ids }: CutRequest,
  url: string | undefined,
  memory: ReadingMemory,
  preceding: Preceding | null,
): ParsedCall {
  try {
    const skeleton = skeletonOf(body, pieces);
    assertNotTooMany(format, skeleton, pieces);
    const outside = [...format.messagesOutside(skeleton), ...uncut(format, skeleton)].map(ownSlice);
    const elements = pieces.flatMap(({ section, start, end }, index): Slice[] =>
      section === null || section !== format.messagesKey ? [] : [{ slice_id: ids[index] ?? '', body, start, end }],
    );
    const { slices, joined } = format.joinsAnswer
      ? joinedAnswers(format, elements, memory)
      : { slices: elements, joined: [] };
    if (format.isNoOp(skeleton, { messages: outside.length + elements.length }))
      return { ...emptyRequest, asks_nothing: true };
    const all = [...outside, ...slices];
    const system = pieces.flatMap(({ section, start, end }, index) =>
      section !== null && section === format.systemKey
        ? [{ slice_id: ids[index] ?? '', bytes: body.subarray(start, end) }]
        : [],
    );
    const read = (slice: Slice) => messageIn(format, slice, memory);
    return {
      head: requestHead(format, skeleton, { body, pieces }, url),
      traits: traitsOf({ format, skeleton, system, messages: all, read }, memory.texts),
      messages: linked(format, all, memory, preceding),
      unreadable: null,
      own_slices: [...outside, ...joined],
      asks_nothing: false,
    };
  } catch (error) {
    if (error instanceof Unreadable) return { ...emptyRequest, unreadable: error.message };
    throw error;
  }
}

/** Each is a row and a slice, written while all other turns wait; no model reads as many. */
const MAX_MESSAGES = 20_000;

/** @throws {Unreadable} */
function assertNotTooMany(
  { messagesKey }: WireFormat,
  skeleton: Record<string, unknown>,
  pieces: readonly Piece[],
): void {
  if (messagesKey && countIn(messagesKey, skeleton, pieces) > MAX_MESSAGES)
    throw new Unreadable(`Cannot read the request: it has more than ${MAX_MESSAGES} messages`);
}

/** How many elements a top-level array has, whether or not it was cut. */
function countIn(key: string, skeleton: Record<string, unknown>, pieces: readonly Piece[]): number {
  const left = skeleton[key];
  return pieces.filter(({ section }) => section === key).length + (Array.isArray(left) ? left.length : 0);
}

/** Messages of a body that was left in one piece, since it has too many or names its array twice. */
function uncut(format: WireFormat, skeleton: Record<string, unknown>): Message[] {
  const array = format.messagesKey ? skeleton[format.messagesKey] : null;
  if (!Array.isArray(array)) return [];
  const messages = array.map((element) => format.message(element));
  return format.joinsAnswer ? runs(messages, ({ role }) => role).map(joinedMessage) : messages;
}

type OwnSlice = { slice_id: string; bytes: Uint8Array };
type Slice = OwnSlice | { slice_id: string; body: Uint8Array; start: number; end: number };

function ownSlice(message: Message): OwnSlice {
  const bytes = messageSlice(message);
  return { slice_id: sliceId(bytes), bytes };
}

/** Adjacent elements of the assistant become one message, in a slice of its own. */
function joinedAnswers(
  format: WireFormat,
  elements: readonly Slice[],
  memory: ReadingMemory,
): { slices: Slice[]; joined: OwnSlice[] } {
  const read = (slice: Slice) => messageOf(format, bytesOf(slice));
  const roleOf = (slice: Slice): MessageRole => {
    const key = `${format.id} ${slice.slice_id}`;
    const role = memory.roles.get(key) ?? read(slice).role;
    memory.roles.set(key, role);
    return role;
  };
  const joined: OwnSlice[] = [];
  const slices = runs(elements, roleOf).flatMap((run): Slice[] => {
    if (run.length === 1) return run;
    const own = ownSlice(joinedMessage(run.map(read)));
    joined.push(own);
    return [own];
  });
  return { slices, joined };
}

/** Groups of adjacent members of the assistant; each other member is a group of its own. */
function runs<T>(members: readonly T[], roleOf: (member: T) => MessageRole): T[][] {
  const out: T[][] = [];
  let before: MessageRole | null = null;
  for (const member of members) {
    const role = roleOf(member);
    if (role === 'assistant' && before === 'assistant') out.at(-1)?.push(member);
    else out.push([member]);
    before = role;
  }
  return out;
}

const joinedMessage = (messages: readonly Message[]): Message => {
  const [first, ...others] = messages;
  if (!first) throw new Error('Cannot join messages: there are none');
  return others.length === 0 ? first : { role: first.role, content: messages.flatMap(({ content }) => content) };
};

function linked(
  format: WireFormat,
  slices: readonly Slice[],
  memory: ReadingMemory,
  preceding: Preceding | null,
): LinkedMessage[] {
  let spine: Preceding | null = preceding;
  return slices.map((slice) => {
    const key: string = `${format.id} ${spine?.node_hash ?? ''} ${slice.slice_id}`;
    const message: LinkedMessage =
      memory.messages.get(key) ?? link(format, messageIn(format, slice, memory), spine, slice.slice_id);
    memory.messages.set(key, message);
    if (message.injected === '') spine = message;
    return message;
  });
}

/** The message in a slice; the latest are cached, since the purpose of a call shows at the ends of its conversation. */
function messageIn(format: WireFormat, slice: Slice, { recent }: ReadingMemory): Message {
  const key = `${format.id} ${slice.slice_id}`;
  const known = recent.get(key);
  if (known) return known;
  const bytes = bytesOf(slice);
  const message = messageOf(format, bytes);
  recent.set(key, message, { size: bytes.byteLength + 1 });
  return message;
}

const bytesOf = (slice: Slice): Uint8Array =>
  'bytes' in slice ? slice.bytes : slice.body.subarray(slice.start, slice.end);

/** Links a message to its parent node; `after` is null for a root. */
function link(format: WireFormat, message: Message, after: Preceding | null, slice_id: string | null): LinkedMessage {
  const injected = slice_id === null ? '' : injectedKind(message);
  const [node] = chain([{ canonical: canonicalContent(echoed(format, message)), injected }], {
    hash: after?.node_hash ?? null,
    depth: after?.depth ?? 0,
  });
  if (!node) throw new Error('Cannot link a message: the chain is empty');
  const tool_calls = message.content.filter(({ type }) => type === 'tool_use' || type === 'server_tool_use').length;
  return { ...node, role: message.role, injected, tool_calls, slice_id };
}

const leafOf = (format: WireFormat, after: Preceding | null, reply: Reply): LinkedMessage =>
  link(format, { role: 'assistant', content: reply.content }, after, null);
