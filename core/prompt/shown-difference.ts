/** Where two prompts first differ, to the character: what a reader is shown of a break. */
import { type CacheBreak, PROMPT_SECTIONS } from '../model/cache-break.ts';
import { differingAt, firstDifference } from './first-difference.ts';
import type { PromptBlock } from './prompt.ts';

export type Shown = Pick<CacheBreak, 'where' | 'was' | 'is'>;

const MOST = 200;
const BEFORE = 60; // characters that are shown ahead of the first one that differs

/**
 * @param n place of the first blocks that differ, in cache order
 * @param sentAgain whether the earlier call's block stands elsewhere in the later prompt
 * @param sentBefore whether the later call's block stood elsewhere in the earlier prompt
 */
export function shownDifference(
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
  const { path, at: char, was, is } = firstDifference(before, after);
  const shown = (value: unknown) => (char === null || typeof value !== 'string' ? textOf(value) : around(value, char));
  return { where: { ...at(after, char), path }, was: shown(was), is: shown(is) };
}

const isAhead = (one: PromptBlock, other: PromptBlock): boolean =>
  PROMPT_SECTIONS.indexOf(one.section) < PROMPT_SECTIONS.indexOf(other.section);

/** Whether the one looks like the other, changed: at least half of the longer is at the same ends of both. */
export function resembles(before: PromptBlock, after: PromptBlock): boolean {
  if (before.section !== after.section || before.kind !== after.kind) return false;
  const [one, other] = [JSON.stringify(before.json()) ?? '', JSON.stringify(after.json()) ?? ''];
  const length = Math.min(one.length, other.length);
  const start = differingAt(one, other);
  let end = 0;
  while (end < length - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end))
    end++;
  return 2 * (start + end) >= Math.max(one.length, other.length);
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
