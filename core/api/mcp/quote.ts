/** Quotations of recorded text: cut to size and marked, so that they cannot pass for the service's own words. */

/** The limit of each of the two forms of a result (text and structured), in characters. */
export const MOST_CHARACTERS = 25_000;

/**
 * The beginning of a text that takes at most `most` characters in JSON. `left` counts the characters that are missing.
 * No surrogate pair is split.
 */
export function beginning(text: string, most: number): { text: string; left: number } {
  if (jsonLength(text.slice(0, most + 1)) <= most) return { text, left: 0 };
  let cut = text.slice(0, most);
  for (let length = jsonLength(cut); length > most; length = jsonLength(cut))
    cut = cut.slice(0, Math.min(cut.length - 1, Math.floor((cut.length * most) / length)));
  if (/[\ud800-\udbff]$/.test(cut) && /[\udc00-\udfff]/.test(text.charAt(cut.length))) cut = cut.slice(0, -1);
  return { text: cut, left: text.length - cut.length };
}

/** The length of a text as a JSON string, without its quotation marks. */
export const jsonLength = (text: string): number => JSON.stringify(text).length - 2;

/** A text as one line, with `…` where it was cut. */
export const oneLine = (text: string, most: number): string => {
  const start = text.slice(0, most * 2).replace(/[\ud800-\udbff]$/, ''); // no half of a pair
  const { text: line, left } = beginning(start.replace(/\s+/g, ' ').trim(), most);
  return left > 0 || text.length > most * 2 ? `${line}…` : line;
};

/** Prefixes every line with a mark. */
export const quoted = (text: string): string => text.replace(/^/gm, '> ');

/** `1,234,567` */
export const grouped = (count: number): string => count.toLocaleString('en-US');

/** `$0.2134`: four decimals below a dollar, else two; `cost unknown` where no price is known. */
export const dollars = (usd: number | null): string =>
  usd === null ? 'cost unknown' : `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 1 ? 4 : 2)}`;

/** `2026-07-27 09:30 UTC` */
export const minute = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;

/** `0.4 s`, `12 min`, `3.2 h` */
export const lasting = (ms: number): string => {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
};

/**
 * The items that fit, the first in any case: each counts with the longer one of its two forms.
 * @param used characters that are already taken
 */
export function fitting<Item>(items: readonly Item[], textOf: (item: Item) => string, used: number): Item[] {
  let left = MOST_CHARACTERS - used;
  const end = items.findIndex((item, i) => {
    left -= Math.max(JSON.stringify(item).length, textOf(item).length) + 2;
    return left < 0 && i > 0;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}
