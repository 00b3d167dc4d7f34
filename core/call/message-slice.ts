/** The message in a stored slice, in either of the two forms in which messages are stored. */
import { parseElement } from '../capture/slices.ts';
import { Message } from '../model/bucket.ts';
import { isObject } from '../parse-json.ts';
import type { WireFormat } from '../provider/format.ts';

/** The slice of a message that is no single element of its request's array, such as a plain `input`. */
export const messageSlice = ({ role, content }: Message): Uint8Array =>
  Buffer.from(JSON.stringify({ svc_message: { role, content } }));

/** The message in a slice: an element of the request's array with its separator, or what `messageSlice` made. @throws {Unreadable} */
export function messageOf(format: WireFormat, slice: Uint8Array): Message {
  const element = parseElement(slice);
  if (isObject(element) && 'svc_message' in element) {
    const own = Message.safeParse(element.svc_message);
    if (own.success) return own.data;
  }
  return format.message(element);
}
