/** Reads an answer: decodes and reduces its bytes as they came. Whatever they hold, there is a result. */
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { collectAfterLarge } from '../collect-garbage.ts';
import { type HeaderList, headerOf } from '../model/headers.ts';
import type { Reply } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { REDUCED_TYPE, reducedReply } from '../provider/reduced-reply.ts';

/** Ten megabytes of JSON become a hundred of objects, all of them garbage a moment later. */
const answerRead = collectAfterLarge({ large: 1_048_576, enough: 8_388_608, afterMs: 0 });

/** An answer's bytes as they came. */
export type AnswerBytes = { bytes: Uint8Array; headers: HeaderList };

/** `unreadable` says why there is no reply where bytes came; it never quotes them. */
export function readAnswer(
  format: WireFormat,
  answer: AnswerBytes | null,
): { reply: Reply | null; unreadable: string | null } {
  if (!answer || answer.bytes.byteLength === 0) return { reply: null, unreadable: null };
  try {
    const { bytes, salvaged } = decodeBodySync(answer.bytes, headerOf(answer.headers, 'content-encoding'));
    const type = headerOf(answer.headers, 'content-type') ?? '';
    const reply = type === REDUCED_TYPE ? reducedReply(bytes) : format.reply(bytes, type);
    answerRead(bytes.byteLength);
    return { reply: salvaged ? { ...reply, complete: false } : reply, unreadable: null };
  } catch (error) {
    if (error instanceof Unreadable || error instanceof Undecodable) return { reply: null, unreadable: error.message };
    throw error;
  }
}
