/** The errors of endpoints of OpenAI's kind, the same in each of its formats. */
import type { Reply } from '../model/reply.ts';
import { isFields, text } from './json.ts';

/** `{error: {message, type, code}}`, `{error: "…"}` and `{object: 'error', message}`, all seen in the wild; null when it is no error. */
export function errorIn(document: unknown): Reply['error'] {
  if (!isFields(document)) return null;
  if (typeof document.error === 'string' && document.error !== '') return { type: 'error', message: document.error };
  const error = document.object === 'error' ? document : document.error;
  if (!isFields(error)) return null;
  const code = typeof error.code === 'number' ? String(error.code) : text(error.code);
  return { type: text(error.type) || text(error.status) || code || 'error', message: text(error.message) };
}
