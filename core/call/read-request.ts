/** Reads an opened request: its messages as a chain of nodes, and the traits that show its purpose. */
import { sliceId } from '../capture/slice-codec.ts';
import type { Piece } from '../capture/slices.ts';
import type { CallTraits } from '../harness/harness.ts';
import type { Message, MessageRole } from '../model/bucket.ts';
import type { LinkedMessage } from '../model/node.ts';
import type { RequestHead } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { bytesOf, linkMessages, type MessageSlice, messageIn, type OwnSlice } from './link-messages.ts';
import type { ReadingMemory } from './memory.ts';
import { messageOf, messageSlice } from './message-slice.ts';
import { type CutRequest, countIn, type OpenedRequest } from './open-request.ts';
import type { ContinuedAnswer } from './previous-call.ts';
import { heldElements, referenceIn } from './references.ts';
import { noTraits, traitsOf } from './traits.ts';

export type RequestRead = {
  head: RequestHead | null;
  traits: Pick<CallTraits, 'system' | 'first' | 'last'>;
  messages: LinkedMessage[];
  unreadable: string | null; // why the request cannot be read; never quotes it
  own_slices: OwnSlice[]; // of messages that are no single element of the request's array
  asks_nothing: boolean; // no model was asked for anything
};

export const unreadableRequest = (unreadable: string | null): RequestRead => ({
  ...{ head: null, traits: noTraits, messages: [], unreadable, own_slices: [], asks_nothing: false },
});

/** Whatever the body holds, there is a result: an unreadable request has no messages. */
export function readRequest(
  format: WireFormat,
  { cut, skeleton, head, references, unreadable }: OpenedRequest,
  memory: ReadingMemory,
  preceding: ContinuedAnswer | null,
): RequestRead {
  if (!cut || !skeleton) return unreadableRequest(unreadable);
  try {
    const { outside, elements, system } = sectionsOf(format, skeleton, cut);
    const sent = joinedAnswers(format, elements, memory);
    if (format.isNoOp(skeleton, { messages: outside.length + elements.length }))
      return { ...unreadableRequest(null), asks_nothing: true };
    if (!head) return unreadableRequest(unreadable);
    const held = references.length > 0 && preceding ? heldIn(format, elements, memory, preceding) : null;
    const added = held
      ? joinedAnswers(
          format,
          elements.filter((_, at) => !held[at]),
          memory,
        )
      : sent;
    const read = (slice: MessageSlice) => messageIn(format, slice, memory);
    return {
      head,
      traits: traitsOf({ format, skeleton, system, messages: [...outside, ...sent.slices], read }, memory.texts),
      messages: linkMessages(format, [...outside, ...added.slices], memory, preceding),
      unreadable: null,
      own_slices: [...outside, ...added.joined],
      asks_nothing: false,
    };
  } catch (error) {
    if (error instanceof Unreadable) return unreadableRequest(error.message);
    throw error;
  }
}

/** Messages that stand outside the array, its elements, and the blocks of the system prompt. @throws {Unreadable} */
function sectionsOf(format: WireFormat, skeleton: Record<string, unknown>, { body, pieces, ids }: CutRequest) {
  assertNotTooMany(format, skeleton, pieces);
  const outside = [...format.messagesOutside(skeleton), ...uncut(format, skeleton)].map(ownSlice);
  const elements = pieces.flatMap(({ section, start, end }, index): MessageSlice[] =>
    section === null || section !== format.messagesKey ? [] : [{ slice_id: ids[index] ?? '', body, start, end }],
  );
  const system = pieces.flatMap(({ section, start, end }, index) =>
    section !== null && section === format.systemKey
      ? [{ slice_id: ids[index] ?? '', bytes: body.subarray(start, end) }]
      : [],
  );
  return { outside, elements, system };
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

/** Messages of a body that was left in one piece, since it has too many or names its array twice. */
function uncut(format: WireFormat, skeleton: Record<string, unknown>): Message[] {
  const array = format.messagesKey ? skeleton[format.messagesKey] : null;
  if (!Array.isArray(array)) return [];
  const messages = array.map((element) => format.message(element));
  return format.joinsAnswer ? runs(messages, ({ role }) => role).map(joinedMessage) : messages;
}

function ownSlice(message: Message): OwnSlice {
  const bytes = messageSlice(message);
  return { slice_id: sliceId(bytes), bytes };
}

/** The elements that a request repeats of what it continues, some of them by reference; null when it refers to none. */
const heldIn = (
  format: WireFormat,
  elements: readonly MessageSlice[],
  memory: ReadingMemory,
  { item_ids }: ContinuedAnswer,
): boolean[] | null =>
  heldElements(
    {
      references: elements.map((slice) => referenceIn(format, bytesOf(slice))),
      isAnswer: (at) => {
        const slice = elements[at];
        return slice !== undefined && roleOf(format, slice, memory) === 'assistant';
      },
    },
    item_ids,
  );

/** The role alone, which is remembered for longer than the message. */
function roleOf(format: WireFormat, slice: MessageSlice, { roles }: ReadingMemory): MessageRole {
  const key = `${format.id} ${slice.slice_id}`;
  const role = roles.get(key) ?? messageOf(format, bytesOf(slice)).role;
  roles.set(key, role);
  return role;
}

/** Adjacent elements of the assistant become one message, in a slice of its own, where the format sends an answer back in several. */
function joinedAnswers(
  format: WireFormat,
  elements: readonly MessageSlice[],
  memory: ReadingMemory,
): { slices: MessageSlice[]; joined: OwnSlice[] } {
  if (!format.joinsAnswer) return { slices: [...elements], joined: [] };
  const read = (slice: MessageSlice) => messageOf(format, bytesOf(slice));
  const joined: OwnSlice[] = [];
  const slices = runs(elements, (slice) => roleOf(format, slice, memory)).flatMap((run): MessageSlice[] => {
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
