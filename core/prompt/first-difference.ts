/** The first place at which a block differs from the one that it took the place of: the member, and the character of its text. */
import { isObject } from '../parse-json.ts';
import type { PromptBlock } from './prompt.ts';

export type Difference = { path: string; at: number | null };

/** `path` as in the later request. `at` counts UTF-16 units; null: no two texts differ there. Cache marks do not count. */
export function firstDifference(before: PromptBlock, after: PromptBlock): Difference {
  const [one, other] = [before.json(), after.json()];
  if (typeof one === typeof other) return within(one, other, after.path) ?? { path: after.path, at: null };
  const [text, words] = [before.text(), after.text()]; // as a plain text, and in an object of its own
  const path = typeof other === 'string' ? after.path : `${after.path}.text`;
  return text === null || words === null
    ? { path: after.path, at: null }
    : (within(text, words, path) ?? { path, at: null });
}

/** null: there is none. */
function within(one: unknown, other: unknown, path: string): Difference | null {
  if (one === other) return null;
  if (typeof one === 'string' && typeof other === 'string') return { path, at: differingAt(one, other) };
  if (Array.isArray(one) && Array.isArray(other)) {
    for (let i = 0; i < Math.max(one.length, other.length); i++) {
      if (i >= one.length || i >= other.length) return { path: `${path}[${i}]`, at: null };
      const found = within(one[i], other[i], `${path}[${i}]`);
      if (found) return found;
    }
    return null;
  }
  if (!isObject(one) || !isObject(other)) return { path, at: null };
  for (const key of new Set([...Object.keys(other), ...Object.keys(one)])) {
    if (key === 'cache_control') continue;
    if (!Object.hasOwn(one, key) || !Object.hasOwn(other, key)) return { path: memberPath(path, key), at: null };
    const found = within(one[key], other[key], memberPath(path, key));
    if (found) return found;
  }
  return null;
}

const memberPath = (path: string, key: string): string =>
  /^[A-Za-z_$][\w$-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;

function differingAt(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  for (let i = 0; i < most; i++) if (one.charCodeAt(i) !== other.charCodeAt(i)) return i;
  return most;
}
