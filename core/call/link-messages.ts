/** Links a request's messages, and the answer after them, into the chain of nodes. */

import { canonicalContent } from '../harness/canonical-content.ts';
import { injectedKind } from '../harness/harnesses.ts';
import { chain } from '../merkle/chain.ts';
import type { Message } from '../model/bucket.ts';
import type { LinkedMessage } from '../model/node.ts';
import type { Reply } from '../model/reply.ts';
import { toolCallIn } from '../model/tool-call.ts';
import { echoed } from '../provider/echoed.ts';
import type { WireFormat } from '../provider/format.ts';
import type { ReadingMemory } from './memory.ts';
import { messageOf } from './message-slice.ts';

/** The answer that a request continues without repeating it. */
export type Preceding = { node_hash: string; depth: number };

/** A message's bytes: a slice of its own, or a piece of the request's body. */
export type MessageSlice = OwnSlice | { slice_id: string; body: Uint8Array; start: number; end: number };
export type OwnSlice = { slice_id: string; bytes: Uint8Array };

export function linkMessages(
  format: WireFormat,
  slices: readonly MessageSlice[],
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
export function messageIn(format: WireFormat, slice: MessageSlice, { recent }: ReadingMemory): Message {
  const key = `${format.id} ${slice.slice_id}`;
  const known = recent.get(key);
  if (known) return known;
  const bytes = bytesOf(slice);
  const message = messageOf(format, bytes);
  recent.set(key, message, { size: bytes.byteLength + 1 });
  return message;
}

export const bytesOf = (slice: MessageSlice): Uint8Array =>
  'bytes' in slice ? slice.bytes : slice.body.subarray(slice.start, slice.end);

/** Links a message to its parent node; `after` is null for a root. */
function link(format: WireFormat, message: Message, after: Preceding | null, slice_id: string | null): LinkedMessage {
  const injected = slice_id === null ? '' : injectedKind(message);
  const [node] = chain([{ canonical: canonicalContent(echoed(format, message)), injected }], {
    hash: after?.node_hash ?? null,
    depth: after?.depth ?? 0,
  });
  if (!node) throw new Error('Cannot link a message: the chain is empty');
  const tool_calls = message.content.filter((block) => toolCallIn(block) !== null).length;
  return { ...node, role: message.role, injected, tool_calls, slice_id };
}

/** The answer as the last node. */
export const leafOf = (format: WireFormat, after: Preceding | null, reply: Reply): LinkedMessage =>
  link(format, { role: 'assistant', content: reply.content }, after, null);
