/** The texts of two blocks that are laid side by side: what they say, or the member in which they first differ. */
import type { BlockContent } from '../../../../../model/call-context.ts';

export type TextPair = { of: string; before: string; after: string };

/** @param path of the first member that differs, in the request of `after`, such as `tools[14].description` */
export function textPair(before: BlockContent, after: BlockContent, path: string): TextPair {
  if (before.text !== null && after.text !== null && before.text !== after.text)
    return { of: '', before: before.text, after: after.text };
  const rest = path.startsWith(after.path) ? path.slice(after.path.length) : '';
  const [one, other] = [memberAt(before.json, rest), memberAt(after.json, rest)];
  if (rest !== '' && typeof one === 'string' && typeof other === 'string' && one !== other)
    return { of: path, before: one, after: other };
  return { of: '', before: indented(before.json), after: indented(after.json) };
}

export const indented = (value: unknown): string => JSON.stringify(value, null, 2) ?? '';

/** undefined: there is none. @param path such as `.input["file name"][3]` */
export function memberAt(value: unknown, path: string): unknown {
  let found = value;
  for (const [, name, number, quoted] of path.matchAll(/\.([^.[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    const key = name ?? number ?? String(JSON.parse(quoted ?? '""'));
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
