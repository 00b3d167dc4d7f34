/** Lists of headers, and look-ups in them. Names are compared without case; of a repeated header the first counts. */
import { z } from 'zod';

/** Names and values in the order of the wire; a name may repeat. */
export const HeaderList = z.array(z.tuple([z.string(), z.string()]));
export type HeaderList = z.infer<typeof HeaderList>;

/** The value as sent; null when there is no such header. @param name in lower case */
export function headerOf(headers: HeaderList, name: string): string | null {
  for (const [sent, value] of headers) if (sent.length === name.length && sent.toLowerCase() === name) return value;
  return null;
}

/** The value without white space around it; '' when there is none. */
export const wordOf = (headers: HeaderList, name: string): string => headerOf(headers, name)?.trim() ?? '';

/** The codings under which a body is, as `content-encoding` lists them, in however many lines (RFC 9110, 5.3); null: none. */
export function contentCoding(headers: HeaderList): string | null {
  const listed = headers
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .map(([, value]) => value)
    .join(', ');
  return listed === '' || listed.toLowerCase() === 'identity' ? null : listed;
}

/** True for a text that no header may carry: a control character is in it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
export const hasControlCharacter = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text);
