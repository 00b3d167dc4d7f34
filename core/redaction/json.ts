/** Redacts credentials in a JSON value: in its texts, and the whole value of a member that is named for one, as headers are in JSON. */

import { parseJson } from '../parse-json.ts';
import { isCredentialMember } from './names.ts';
import { REDACTED } from './shapes.ts';
import { redactText } from './text.ts';

/** A copy in which every credential is replaced; the rest has its order and its types. */
export function redactJson(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return isPair(value) ? [value[0], replaced(value[1])] : value.map(redactJson);
  const named = isNamedValue(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isCredentialMember(name) || (named && name === 'value') ? replaced(member) : redactJson(member),
    ]),
  );
}

/** `["authorization", "…"]` */
const isPair = (list: unknown[]): boolean =>
  list.length === 2 && typeof list[0] === 'string' && isCredentialMember(list[0]);

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
