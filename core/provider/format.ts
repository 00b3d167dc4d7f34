/** The interface of a wire format. One value per format, in a file of its own; nothing here does I/O or keeps state. */
import type { Message } from '../model/bucket.ts';
import type { Reply, RequestHead } from '../model/reply.ts';
import type { Terms } from '../model/terms.ts';
import type { PromptShape } from './prompt-shape.ts';

/** The provider's ids of a call, as its answer and its headers give them; '' where it gives none. */
export type ProviderIds = { response_id: string; request_id: string };

export type WireFormat<Id extends string = string> = {
  id: Id;
  /** The provider whose format it is. */
  provider: string;
  /** True for the calls that are turns in this format. `path` has no query and no provider prefix. */
  matches(method: string, path: string): boolean;
  /** The path of a call whose path is unknown. */
  usualPath: string;
  /** Whether turns come over a WebSocket as well: one that is opened with a GET of the same path. */
  overWebSocket: boolean;
  /**
   * Whether clients send a model's thinking back with the next request. Where they do not, it stays out of the hash: the answer and
   * its repetition in the history are one node, or each turn of a conversation without a name would look like a fork.
   */
  echoesThinking: boolean;
  /** Whether clients send the ids of tool calls back with the next request; where some do not, the ids stay out of the hash. */
  echoesToolIds: boolean;
  /** Where its requests hold the prompt, block by block. */
  prompt: PromptShape;
  /** The top-level array of the body that holds the messages; null for a format without one. */
  messagesKey: string | null;
  /** The top-level member of the body that may be an array of system prompts; null for a format without one. */
  systemKey: string | null;
  /** The top-level array of the body that holds the tools; null for a format without one. */
  toolsKey: string | null;
  /** How many tools an element of that array declares; absent: one. */
  toolsIn?(element: unknown): number;
  /**
   * Whether an answer comes back as several elements of that array, such as its text, its reasoning and its tool calls. Adjacent ones of
   * the assistant's are then joined into one message, which equals the answer.
   */
  joinsAnswer: boolean;
  /** Whether clients may send a text of the assistant's back in several pieces, as it was streamed; absent: they send it whole. */
  splitsTexts?: boolean;
  /** True when the request asks no model for anything, such as one that only loads it into memory. */
  isNoOp(skeleton: Record<string, unknown>, counts: { messages: number }): boolean;
  /**
   * What the request asks for. `skeleton` is the parsed body with its sliced arrays emptied.
   * @throws {Unreadable} when the body is not this format's
   */
  requestHead(skeleton: Record<string, unknown>, counts: { messages: number; tools: number }): RequestHead;
  /** What the path asks for, where it takes precedence over the body. `path` may have a query, and any prefix. */
  headInPath?(path: string): Partial<RequestHead>;
  /** System prompts outside the messages: each a text, or an array of blocks with a `text`. */
  systemPrompts(skeleton: Record<string, unknown>): unknown[];
  /** Messages that stand outside the array, such as an `input` that is a plain string; in order, before the array's. */
  messagesOutside(skeleton: Record<string, unknown>): Message[];
  /** One element of the array. @throws {Unreadable} */
  message(element: unknown): Message;
  /** The id of the item that an element of the array only refers to, as the provider holds it; '': it holds a message itself. Absent: all do. */
  referenceIn?(element: unknown): string;
  /**
   * An answer's bytes, decoded from their content coding: a stream or a document, recognised by content type, else by
   * their first bytes. A torn stream gives what came, with `complete: false`. An error document gives `error`.
   * @throws {Unreadable} when the bytes are neither
   */
  reply(body: Uint8Array, contentType: string): Reply;
  /** Its words for why an answer ended: by itself, cut short, or to have tools run. */
  stopReasons: { ended: readonly string[]; cut: readonly string[]; tools: readonly string[] };
  /** What names a call wherever it is recorded, as parts of a key; null: the ids do not. `response_id` is not ''. */
  callKey(ids: ProviderIds): string[] | null;
  /** The header of a response with the provider's id of the request, where `callKey` reads it. Absent: none. */
  requestIdHeader?: string;
  /** The terms on which an answer was billed. */
  terms(reply: Reply): Terms;
};

/** The bytes are not what their format promises. The message names the place, never the content. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}
