/** The first place at which a block differs from the one that it took the place of: the member, and the character of its text. */
import { isObject } from '../parse-json.ts';
import type { PromptBlock } from './prompt.ts';

/** `was` and `is`: the two values at that place, undefined where there is none. */
export type Difference = { path: string; at: number | null; was: unknown; is: unknown };

/** `path` as in the later request. `at` counts UTF-16 units; null: no two texts differ there. Cache marks do not count. */
export function firstDifference(before: PromptBlock, after: PromptBlock): Difference {
  const [one, other] = [before.json(), after.json()];
  const whole = { path: after.path, at: null, was: one, is: other };
  if (typeof one === typeof other) return within(one, other, after.path) ?? whole;
  const [was, is] = [before.text(), after.text()]; // as a plain text, and in an object of its own
  if (was === null || is === null) return whole;
  const path = typeof other === 'string' ? after.path : `${after.path}.text`;
  return within(was, is, path) ?? { path, at: null, was, is };
}

/** null: there is none. */
function within(one: unknown, other: unknown, path: string): Difference | null {
  if (one === other) return null;
  const here = { path, at: null, was: one, is: other };
  if (typeof one === 'string' && typeof other === 'string') return { ...here, at: differingAt(one, other) };
  if (Array.isArray(one) && Array.isArray(other)) {
    for (let i = 0; i < Math.max(one.length, other.length); i++) {
      if (i >= one.length || i >= other.length) return { path: `${path}[${i}]`, at: null, was: one[i], is: other[i] };
      const found = within(one[i], other[i], `${path}[${i}]`);
      if (found) return found;
    }
    return null;
  }
  if (!isObject(one) || !isObject(other)) return here;
  for (const key of new Set([...Object.keys(other), ...Object.keys(one)])) {
    if (key === 'cache_control') continue;
    const [was, is] = [one, other].map((object) => (Object.hasOwn(object, key) ? object[key] : undefined));
    const at = memberPath(path, key);
    if (was === undefined || is === undefined) return { path: at, at: null, was, is };
    const found = within(was, is, at);
    if (found) return found;
  }
  return null;
}

const memberPath = (path: string, key: string): string => {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
};

/** Where two texts first differ, in UTF-16 units. */
export function differingAt(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  for (let i = 0; i < most; i++) if (one.charCodeAt(i) !== other.charCodeAt(i)) return i;
  return most;
}
