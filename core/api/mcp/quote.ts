/** How is recorded text told? Cut to size, and marked as a quotation, so that it cannot pass for our own words. */

/** What both forms of an answer may hold, each, in characters. */
export const MOST_CHARACTERS = 25_000;

/**
 * The beginning of a text, as long as it takes at most `most` characters in JSON. `left` counts what is missing.
 * No surrogate pair is torn.
 */
export function beginning(text: string, most: number): { text: string; left: number } {
  if (jsonLength(text.slice(0, most + 1)) <= most) return { text, left: 0 };
  let kept = text.slice(0, most);
  for (let length = jsonLength(kept); length > most; length = jsonLength(kept))
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * most) / length)));
  if (/[\ud800-\udbff]$/.test(kept) && /[\udc00-\udfff]/.test(text.charAt(kept.length))) kept = kept.slice(0, -1);
  return { text: kept, left: text.length - kept.length };
}

/** What it takes as a value in JSON, without its quotation marks. */
export const jsonLength = (text: string): number => JSON.stringify(text).length - 2;

/** One line of it, with `…` where it was cut. */
export const oneLine = (text: string, most: number): string => {
  const { text: kept, left } = beginning(
    text
      .slice(0, most * 2)
      .replace(/\s+/g, ' ')
      .trim(),
    most,
  );
  return left > 0 || text.length > most * 2 ? `${kept}…` : kept;
};

/** Every line behind a mark. */
export const quoted = (text: string): string => text.replace(/^/gm, '> ');

/** `1,234,567` */
export const grouped = (count: number): string => count.toLocaleString('en-US');

/** `$0.2134`, as many digits as tell something; `cost unknown` where no price is known. */
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
 * @param used characters that are spoken for
 */
export function fitting<Item>(items: readonly Item[], told: (item: Item) => string, used: number): Item[] {
  let left = MOST_CHARACTERS - used;
  const end = items.findIndex((item, i) => {
    left -= Math.max(JSON.stringify(item).length, told(item).length) + 2;
    return left < 0 && i > 0;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}
