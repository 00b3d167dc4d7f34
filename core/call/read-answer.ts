/** Reads an answer: decodes and reduces its bytes as they came. Whatever they hold, there is a result. */
import { LRUCache } from 'lru-cache';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { collectAfterLarge } from '../collect-garbage.ts';
import { contentCoding, type HeaderList, headerOf } from '../model/headers.ts';
import type { Reply } from '../model/reply.ts';
import { Unreadable, type WireFormat } from '../provider/format.ts';
import { REDUCED_TYPE, reducedReply } from '../provider/reduced-reply.ts';

/** Ten megabytes of JSON become a hundred of objects, all of them garbage a moment later. */
const answerRead = collectAfterLarge({ large: 1_048_576, enough: 8_388_608, afterMs: 0 });

/** An answer's bytes as they came. `slice_id`: of those bytes; only then is the answer cached. */
export type AnswerBytes = { bytes: Uint8Array; slice_id?: string; headers: HeaderList };

/** `unreadable` says why there is no reply where bytes came; it never quotes them. */
export type AnswerRead = { reply: Reply | null; unreadable: string | null };

/** By format, slice, content type and coding. */
export type AnswerCache = LRUCache<string, AnswerRead>;

export const answerCache = (): AnswerCache => new LRUCache({ max: 256, maxSize: 4_194_304, maxEntrySize: 524_288 }); // in bytes of the answers as they came

export function readAnswer(format: WireFormat, answer: AnswerBytes | null, answers?: AnswerCache): AnswerRead {
  if (!answer || answer.bytes.byteLength === 0) return { reply: null, unreadable: null };
  const type = headerOf(answer.headers, 'content-type') ?? '';
  const encoding = contentCoding(answer.headers);
  const key = answer.slice_id && [format.id, answer.slice_id, type, encoding].join(' ');
  const known = key && answers?.get(key);
  if (known) return known;
  const read = reduced(format, answer.bytes, { type, encoding });
  if (key) answers?.set(key, read, { size: answer.bytes.byteLength });
  return read;
}

function reduced(
  format: WireFormat,
  stored: Uint8Array,
  { type, encoding }: { type: string; encoding: string | null },
): AnswerRead {
  try {
    const { bytes, salvaged } = decodeBodySync(stored, encoding);
    const reply = type === REDUCED_TYPE ? reducedReply(bytes) : format.reply(bytes, type);
    answerRead(bytes.byteLength);
    return { reply: salvaged ? { ...reply, complete: false } : reply, unreadable: null };
  } catch (error) {
    if (error instanceof Unreadable || error instanceof Undecodable) return { reply: null, unreadable: error.message };
    throw error;
  }
}
