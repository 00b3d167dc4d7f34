/** A break of the cache in words: what its cause is known from, and where the prompts part. */
import type { CacheBreak } from '../../../../../model/cache-break.ts';

export const GROUNDS: Readonly<Record<CacheBreak['ground'], readonly [word: string, means: string]>> = {
  bytes: ['certain', 'the two prompts themselves say so'],
  clock: ['by the clock', 'known from the time between the two calls'],
  inferred: ['inferred', 'neither the prompts nor the clock prove it'],
};

/** A sentence where there is no cause to name. */
export const UNEXPLAINED =
  'The prompt begins with what the provider held, and that was younger than its lifetime. It was not read all the same, and nothing that was recorded says why.';

/** As `tools[14].description, character 212`; '' where the prompts do not part. */
export function whereText({ where }: Pick<CacheBreak, 'where'>): string {
  if (!where) return '';
  const path = where.path || `block ${where.block + 1} of ${where.section}`;
  return where.char === null ? path : `${path}, character ${where.char}`;
}

/** How long between two calls, in its two largest units. */
export function gapText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 1) return `${ms} ms`;
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

export type Parted = { start: string; changed: string; end: string };

/** Two texts with what both begin with and what both end with set apart, never within a character. */
export function parted(was: string, is: string): { was: Parted; is: Parted } {
  const shorter = Math.min(was.length, is.length);
  let start = 0;
  while (start < shorter && was[start] === is[start]) start += 1;
  if (isHigh(was, start - 1)) start -= 1;
  let end = 0;
  while (end < shorter - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  if (isLow(was, was.length - end)) end -= 1;
  const cut = (text: string): Parted => ({
    start: text.slice(0, start),
    changed: text.slice(start, text.length - end),
    end: text.slice(text.length - end),
  });
  return { was: cut(was), is: cut(is) };
}

const isHigh = (text: string, at: number): boolean => /[\ud800-\udbff]/.test(text[at] ?? '');
const isLow = (text: string, at: number): boolean => /[\udc00-\udfff]/.test(text[at] ?? '');
