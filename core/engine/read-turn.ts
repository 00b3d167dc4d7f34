/** What does a captured call say? Its messages as a chain of hashes, what it asked for, and what was answered. */
import { LRUCache } from 'lru-cache';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { headerOf } from '../capture/headers.ts';
import type { HeaderList } from '../capture/journal-format.ts';
import { sliceId } from '../capture/slice-codec.ts';
import { type Piece, skeletonOf } from '../capture/slices.ts';
import { chain } from '../merkle/chain.ts';
import { injectedKind } from '../merkle/injected.ts';
import { canonicalContent } from '../merkle/projection.ts';
import type { Message } from '../model/bucket.ts';
import type { CallNodes, LinkedMessage } from '../model/node.ts';
import type { FormatId } from '../model/provider.ts';
import type { Reply, RequestHead } from '../model/reply.ts';
import { noUsage } from '../model/usage.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { formatById } from '../provider/formats.ts';
import { messageOf, messageSlice } from './message-of.ts';
import { type Answer, readAnswer } from './read-answer.ts';

/** What is known of a call without looking into its bodies. Instants are UTC with microseconds. */
export type CallFacts = {
  format: FormatId;
  call_id: string;
  provider: string;
  agent_name: string;
  project: string;
  requested_at: string;
  last_byte_at: string | null;
};

/** A request's decoded body with its pieces and their slice ids. */
export type CutRequest = { body: Uint8Array; pieces: readonly Piece[]; ids: readonly string[] };

export type ReadTurn = CallNodes & {
  reply: Reply | null;
  unreadable: string | null; // why the request cannot be read; never quotes it
  answer_unreadable: string | null;
  own_slices: { slice_id: string; bytes: Uint8Array }[]; // of messages that are no element of the request's array
};

/** Messages by (format, parent, slice): the same objects come back, so what was hashed once is not hashed again. */
export type ReadingMemory = LRUCache<string, LinkedMessage>;
export const readingMemory = (messages = 50_000): ReadingMemory => new LRUCache({ max: messages });

/**
 * Reads a call. Whatever its bodies hold, it answers: an unreadable request has no messages, an unreadable answer no leaf.
 * The same call gives the same nodes at any time, so they can be thrown away and made again.
 * @param request null when the body was not kept, or cannot be decoded: `undecoded` then says why
 */
export function readTurn(
  facts: CallFacts,
  request: CutRequest | null,
  answer: Answer | null,
  memory: ReadingMemory,
  undecoded: string | null = null,
): ReadTurn {
  const format = formatById(facts.format);
  const asked = request ? readRequest(format, request, memory) : { ...nothing, unreadable: undecoded };
  const { reply, unreadable: answer_unreadable } = readAnswer(format, answer);
  const tip = asked.messages.findLast(({ injected }) => injected === '') ?? null;
  const leaf =
    asked.unreadable === null && reply && reply.content.length > 0 && request ? leafOf(format, tip, reply) : null;
  const { head } = asked;
  return {
    call: {
      tip_hash: tip?.node_hash ?? null,
      leaf_hash: leaf?.node_hash ?? null,
      model: head?.model ?? '',
      stream: head?.stream ?? false,
      max_tokens: head?.max_tokens ?? null,
      tool_count: head?.tool_count ?? 0,
    },
    messages: asked.messages,
    answer: leaf,
    call_id: facts.call_id,
    model: reply?.model || (head?.model ?? ''),
    provider: facts.provider,
    agent_name: facts.agent_name,
    project: facts.project,
    stop_reason: reply?.stop_reason ?? '',
    usage: reply?.usage ?? noUsage,
    requested_at: facts.requested_at,
    answered_at: facts.last_byte_at ?? facts.requested_at,
    reply,
    unreadable: asked.unreadable,
    answer_unreadable,
    own_slices: asked.own_slices,
  };
}

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

type Asked = Pick<ReadTurn, 'messages' | 'unreadable' | 'own_slices'> & { head: RequestHead | null };
const nothing: Asked = { messages: [], unreadable: null, own_slices: [], head: null };

function readRequest(format: WireFormat, { body, pieces, ids }: CutRequest, memory: ReadingMemory): Asked {
  try {
    const skeleton = skeletonOf(body, pieces);
    const outside = [...format.messagesOutside(skeleton), ...uncut(format, skeleton)];
    const own_slices = outside.map(messageSlice).map((bytes) => ({ slice_id: sliceId(bytes), bytes }));
    const slices: Slice[] = [...own_slices];
    let tools = Array.isArray(skeleton.tools) ? skeleton.tools.length : 0;
    for (const [index, { section, start, end }] of pieces.entries()) {
      if (section === 'tools') tools++;
      if (section === format.messagesKey) slices.push({ slice_id: ids[index] ?? '', body, start, end });
    }
    const head = format.requestHead(skeleton, { messages: slices.length, tools });
    return { head, messages: linked(format, slices, memory), unreadable: null, own_slices };
  } catch (error) {
    if (error instanceof Unreadable) return { ...nothing, unreadable: error.message };
    throw error;
  }
}

/** Messages of a body that was left in one piece, since it has too many or names its array twice. */
function uncut(format: WireFormat, skeleton: Record<string, unknown>): Message[] {
  const array = skeleton[format.messagesKey];
  return Array.isArray(array) ? array.map((element) => format.message(element)) : [];
}

type Slice = { slice_id: string } & ({ bytes: Uint8Array } | { body: Uint8Array; start: number; end: number });

function linked(format: WireFormat, slices: readonly Slice[], memory: ReadingMemory): LinkedMessage[] {
  let spine: LinkedMessage | null = null;
  return slices.map((slice) => {
    const key: string = `${format.id} ${spine?.node_hash ?? ''} ${slice.slice_id}`;
    const message: LinkedMessage =
      memory.get(key) ?? link(format, messageOf(format.id, bytesOf(slice)), spine, slice.slice_id);
    memory.set(key, message);
    if (message.injected === '') spine = message;
    return message;
  });
}

const bytesOf = (slice: Slice): Uint8Array =>
  'bytes' in slice ? slice.bytes : slice.body.subarray(slice.start, slice.end);

/** A message on the node it hangs on; `after` is null for a root. */
function link(
  format: WireFormat,
  message: Message,
  after: LinkedMessage | null,
  slice_id: string | null,
): LinkedMessage {
  const injected = slice_id === null ? '' : injectedKind(message);
  const [node] = chain([{ canonical: canonicalContent(hashed(format, message)), injected }], {
    hash: after?.node_hash ?? null,
    depth: after?.depth ?? 0,
  });
  if (!node) throw new Error('Cannot link a message: the chain is empty');
  const tool_calls = message.content.filter(({ type }) => type === 'tool_use' || type === 'server_tool_use').length;
  return { ...node, role: message.role, injected, tool_calls, slice_id };
}

const hashed = ({ echoesThinking }: WireFormat, message: Message): Message =>
  echoesThinking ? message : { ...message, content: message.content.filter(({ type }) => type !== 'thinking') };

const leafOf = (format: WireFormat, tip: LinkedMessage | null, reply: Reply): LinkedMessage =>
  link(format, { role: 'assistant', content: reply.content }, tip, null);
