/** What was answered? An answer's bytes as they came, decoded and reduced; whatever they hold, there is an outcome. */
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { type HeaderList, headerOf } from '../model/headers.ts';
import type { Reply } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { REDUCED_TYPE, reducedReply } from '../provider/reduced-reply.ts';

/** An answer's bytes as they came. */
export type Answer = { bytes: Uint8Array; headers: HeaderList };

/** `unreadable` says why there is no reply where bytes came; it never quotes them. */
export function readAnswer(
  format: WireFormat,
  answer: Answer | null,
): { reply: Reply | null; unreadable: string | null } {
  if (!answer || answer.bytes.byteLength === 0) return { reply: null, unreadable: null };
  try {
    const { bytes, salvaged } = decodeBodySync(answer.bytes, headerOf(answer.headers, 'content-encoding'));
    const type = headerOf(answer.headers, 'content-type') ?? '';
    const reply = type === REDUCED_TYPE ? reducedReply(bytes) : format.reply(bytes, type);
    return { reply: salvaged ? { ...reply, complete: false } : reply, unreadable: null };
  } catch (error) {
    if (error instanceof Unreadable || error instanceof Undecodable) return { reply: null, unreadable: error.message };
    throw error;
  }
}
