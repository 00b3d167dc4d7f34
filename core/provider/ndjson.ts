/** The lines in the copy of a stream of JSON: an object to a line, out of bytes that may end anywhere. */
import { type Fields, isFields, parsed, parseForeign } from './json.ts';

/** A line of a stream: its object, `'cut'` for the last one when it ends early, `'unreadable'` for one that is broken otherwise. */
export type JsonLine = { json: Fields } | 'cut' | 'unreadable';

/** The lines in order. CRLF ends a line as LF does; blank lines are left out; the last line counts although its LF is missing. */
export function jsonLines(body: string): JsonLine[] {
  const lines = body.split('\n');
  return lines.flatMap((line, i): JsonLine[] => {
    const json = line.trim();
    if (json === '') return [];
    const value = json.endsWith('}') ? parsed(json) : undefined; // without the check, many broken lines would be many errors to catch
    if (isFields(value)) return [{ json: value }];
    return [i === lines.length - 1 && endsEarly(json) ? 'cut' : 'unreadable'];
  });
}

/** What is nested too deep is JSON all the same, and not cut. */
function endsEarly(json: string): boolean {
  if (!json.startsWith('{')) return false;
  try {
    parseForeign(json);
    return false;
  } catch {
    return true;
  }
}
