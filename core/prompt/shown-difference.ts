/** Where two prompts first differ, to the character: what a reader is shown of a break. */
import { type CacheBreak, PROMPT_SECTIONS } from '../model/cache-break.ts';
import type { PromptBlock } from './prompt.ts';

export type Shown = Pick<CacheBreak, 'where' | 'was' | 'is'>;

const MOST = 200;
const BEFORE = 60; // characters that are shown ahead of the first one that differs

/**
 * @param n place of the first blocks that differ, in cache order
 * @param sentAgain whether the earlier call's block stands elsewhere in the later prompt
 * @param sentBefore whether the later call's block stood elsewhere in the earlier prompt
 */
export function firstDifference(
  before: PromptBlock | undefined,
  after: PromptBlock | undefined,
  { n, sentAgain, sentBefore }: { n: number; sentAgain: boolean; sentBefore: boolean },
): Shown {
  const at = ({ section, path }: PromptBlock, char: number | null = null) => ({ section, block: n, path, char });
  const added = after && (!before || isAhead(after, before) || (sentAgain && !sentBefore));
  if (added) return { where: at(after), was: null, is: beginningOf(after) };
  if (!before) return { where: null, was: null, is: null };
  if (!after || isAhead(before, after) || (sentBefore && !sentAgain))
    return { where: at(before), was: beginningOf(before), is: null };
  if (sentAgain) return { where: at(after), was: beginningOf(before), is: beginningOf(after) }; // moved
  const { path, char, was, is } = differing(before.json(), after.json(), after.path);
  return { where: { ...at(after, char), path }, was, is };
}

const isAhead = (one: PromptBlock, other: PromptBlock): boolean =>
  PROMPT_SECTIONS.indexOf(one.section) < PROMPT_SECTIONS.indexOf(other.section);

/** Whether the one looks like the other, changed: at least half of the longer is at the same ends of both. */
export function resembles(before: PromptBlock, after: PromptBlock): boolean {
  if (before.section !== after.section || before.kind !== after.kind) return false;
  const [one, other] = [JSON.stringify(before.json()) ?? '', JSON.stringify(after.json()) ?? ''];
  const length = Math.min(one.length, other.length);
  const start = commonStart(one, other);
  let end = 0;
  while (end < length - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end))
    end++;
  return 2 * (start + end) >= Math.max(one.length, other.length);
}

type Differing = { path: string; char: number | null; was: string | null; is: string | null };

function differing(before: unknown, after: unknown, path: string): Differing {
  if (typeof before === 'string' && typeof after === 'string') {
    const char = commonStart(before, after);
    return { path, char, was: around(before, char), is: around(after, char) };
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++)
      if (!isSame(before[i], after[i])) return differing(before[i], after[i], `${path}[${i}]`);
  } else if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(after), ...Object.keys(before)]))
      if (key !== 'cache_control' && !isSame(before[key], after[key]))
        return differing(before[key], after[key], path === '' ? key : `${path}.${key}`);
  }
  return { path, char: null, was: textOf(before), is: textOf(after) };
}

/** Equal but for the order of members and for marks. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, i) => isSame(value, other[i]));
  if (!isObject(one) || !isObject(other)) return false;
  const [names, others] = [namesOf(one), namesOf(other)];
  return names.length === others.length && names.every((key) => key in other && isSame(one[key], other[key]));
}

const namesOf = (value: Record<string, unknown>) => Object.keys(value).filter((key) => key !== 'cache_control');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** In UTF-16 units; never within a pair that is one character. */
function commonStart(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let i = 0;
  while (i < length && one.charCodeAt(i) === other.charCodeAt(i)) i++;
  return i;
}

/** A window of at most 200 characters around the place, whole characters only. */
function around(text: string, char: number): string {
  const from = Math.max(0, char - BEFORE);
  return whole(text.slice(from, from + MOST));
}

const whole = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');

const textOf = (value: unknown): string | null =>
  value === undefined
    ? null
    : whole((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, MOST));

const beginningOf = (block: PromptBlock): string | null => textOf(block.json());
