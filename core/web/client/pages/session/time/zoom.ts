/** The range of time that is looked at, as the address has it: `t=1200-93000`, milliseconds after the session's first prompt. */

/** In microseconds, on the axis of the columns. */
export type TimeRange = { from: number; to: number };

const SHAPE = /^(\d{1,13})-(\d{1,13})$/;
const SHORTEST_US = 1000;

/** null: the whole. @param origin the moment from which it counts */
export function parseRange(text: string | null, origin: number): TimeRange | null {
  const [, from, to] = SHAPE.exec(text ?? '') ?? [];
  if (from === undefined || to === undefined || Number(from) >= Number(to)) return null;
  return { from: origin + Number(from) * 1000, to: origin + Number(to) * 1000 };
}

export function rangeText({ from, to }: TimeRange, origin: number): string {
  const start = Math.max(0, Math.floor((from - origin) / 1000));
  return `${start}-${Math.max(start + 1, Math.ceil((to - origin) / 1000))}`;
}

/** The range nearer to or farther from a moment, which stays in its place; null where it is the whole. */
export function zoomed(range: TimeRange, whole: TimeRange, around: number, factor: number): TimeRange | null {
  const length = Math.max(SHORTEST_US, (range.to - range.from) * factor);
  if (length >= whole.to - whole.from) return null;
  const share = (around - range.from) / Math.max(1, range.to - range.from);
  return within({ from: around - share * length, to: around + (1 - share) * length }, whole);
}

/** The range moved by a share of its length, no farther than the whole goes. */
export function moved(range: TimeRange, whole: TimeRange, share: number): TimeRange {
  const by = (range.to - range.from) * share;
  return within({ from: range.from + by, to: range.to + by }, whole);
}

function within({ from, to }: TimeRange, whole: TimeRange): TimeRange {
  const length = to - from;
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}
