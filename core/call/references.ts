/** References: elements of a request that stand for items of earlier answers, which the provider holds. */
import { bufferOf } from '../capture/json-scan.ts';
import { type Piece, parseElement } from '../capture/slices.ts';
import type { RequestHead } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';

/** An answer has a few items, and its call is found by any of them. */
const MOST_REFERENCES = 32;

/** A reference is an id and a word. A longer element is a message, and not parsed to find that out. */
const MOST_BYTES = 1_024;

/**
 * Whether no two answers have this id, or an item of it, whoever their clients are: a server that numbers them gives short ones. One
 * program may be several clients: Vercel's AI SDK has a user agent for its streams and another one for whole answers.
 */
export const isDistinctive = (id: string): boolean => id.length >= 24;

/**
 * The ids of the items that a request refers to last, the last first. None where it names the answer or the conversation that it
 * continues: then its messages follow what the provider holds of that.
 */
export function referencesIn(
  format: WireFormat | null,
  head: RequestHead | null,
  { body, pieces }: { body: Uint8Array; pieces: readonly Piece[] },
): string[] {
  if (!format?.referenceIn || !head || head.previous_response_id !== '' || head.conversation_id !== '') return [];
  const found: string[] = [];
  for (let at = pieces.length - 1; at >= 0 && found.length < MOST_REFERENCES; at -= 1) {
    const piece = pieces[at];
    if (!piece || piece.section === null || piece.section !== format.messagesKey) continue;
    const id = referenceIn(format, body.subarray(piece.start, piece.end));
    if (id !== '' && !found.includes(id)) found.push(id);
  }
  return found;
}

/** @param bytes of an element of the messages' array, with its separator. '': it refers to nothing */
export function referenceIn({ referenceIn: read }: WireFormat, bytes: Uint8Array): string {
  if (!read || bytes.byteLength > MOST_BYTES || !bufferOf(bytes).includes(ID)) return '';
  try {
    return read(parseElement(bytes));
  } catch (error) {
    if (error instanceof Unreadable) return '';
    throw error;
  }
}
const ID = Buffer.from('"id"');

/** Elements of a request's array of messages, in order. */
export type Elements = {
  references: readonly string[]; // of each: '' where it is a message itself
  isAnswer(at: number): boolean; // whether it is the assistant's
};

/**
 * Which elements of a request a call's answer and what came before it are, when the request refers to items of that answer. That is all
 * up to the first reference to one of them, the elements of the assistant that follow at once (a client may send some items in full),
 * and later references to them, as beside an approval.
 * @param item_ids of the answer
 * @returns true for each such element; null when it refers to none of them
 */
export function heldElements({ references, isAnswer }: Elements, item_ids: readonly string[]): boolean[] | null {
  const ids = new Set(item_ids);
  const first = references.findIndex((id) => id !== '' && ids.has(id));
  if (first < 0) return null;
  let end = first + 1;
  while (end < references.length && isAnswer(end)) end += 1;
  return references.map((id, at) => at < end || (id !== '' && ids.has(id)));
}
