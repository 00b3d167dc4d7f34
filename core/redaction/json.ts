/** Redacts credentials in a JSON value: in its texts, and the whole value of a member that is named for one, as headers are in JSON. */

import { parseJson } from '../parse-json.ts';
import { isCredentialMember } from './names.ts';
import { REDACTED } from './shapes.ts';
import { redactText } from './text.ts';

/** A copy in which every credential is replaced; the rest has its order and its types. */
export function redactJson(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const alternates = isAlternating(value);
    return value.map((item, i) =>
      alternates && i % 2 === 1 && isCredentialMember(String(value[i - 1])) ? replaced(item) : redactJson(item),
    );
  }
  const named = isNamedValue(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isCredentialMember(name) || (named && name === 'value') ? replaced(member) : redactJson(member),
    ]),
  );
}

/** Names and values in turn: `["authorization", "…"]`, or all of them in one list, as Node's `rawHeaders`. */
const isAlternating = (list: unknown[]): boolean =>
  list.length % 2 === 0 && list.every((item, i) => i % 2 === 1 || typeof item === 'string');

/** `{"name": "authorization", "value": "…"}` */
const isNamedValue = (value: object): boolean =>
  'value' in value && 'name' in value && typeof value.name === 'string' && isCredentialMember(value.name);

/** The value with every text replaced; numbers, such as a count of tokens, stay. */
function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? '' : REDACTED;
  if (Array.isArray(value)) return value.map(replaced);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member)]));
}

/** A redacted line of JSON, such as of a log; a line that is not JSON is redacted as text. */
export function redactLine(line: string): string {
  try {
    return `${JSON.stringify(redactJson(parseJson(line)))}\n`;
  } catch {
    return redactText(line);
  }
}
