/** Headers in one setting, in the form of OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, with values percent-encoded where need be. */

/** As in RFC 9110. `node:http` has checks of its own, and is a module that commands need not load. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * null: it is no such list.
 * @example
 * parseHeaderList('x-team=svc,authorization=Bearer%20abc'); // => { 'x-team': 'svc', authorization: 'Bearer abc' }
 */
export function parseHeaderList(text: string): Record<string, string> | null {
  if (text === '') return {};
  const headers: Record<string, string> = {};
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim().toLowerCase();
    const value = decoded(part.slice(at + 1).trim());
    if (value === null || !NAME.test(name) || !VALUE.test(value)) return null;
    headers[name] = value;
  }
  return headers;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const headerListProblem = (text: string): string | null =>
  parseHeaderList(text) === null ? "must be a list of 'name=value', with commas between" : null;
