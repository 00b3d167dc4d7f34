/** The scale of the Time lens: moments to pixels, with stretches in which nothing was under way compressed. All times in microseconds. */

/** Merged stretches in order: start and end in turn. */
export type Stretches = Float64Array;

export type Gap = { x: number; width: number; from: number; to: number };

export type TimeScale = {
  from: number;
  to: number;
  width: number;
  gaps: Gap[];
  x: (moment: number) => number; // between 0 and `width`
  moment: (x: number) => number;
};

const LONGEST_GAP_US = 60_000_000;
const GAP_PX = 26;
const GAPS_SHARE = 0.3; // of the width at most

/** Overlapping and touching stretches become one. @param stretches in any order; one that ends before it starts is a moment */
export function merged(stretches: readonly (readonly [from: number, to: number])[]): Stretches {
  const sorted = [...stretches].sort((a, b) => a[0] - b[0]);
  const result = new Float64Array(sorted.length * 2);
  let length = 0;
  for (const [from, to] of sorted) {
    const last = length - 1;
    if (length > 0 && from <= (result[last] ?? 0)) result[last] = Math.max(result[last] ?? 0, to);
    else {
      result[length++] = from;
      result[length++] = Math.max(from, to);
    }
  }
  return result.slice(0, length);
}

export function totalOf(stretches: Stretches): number {
  let total = 0;
  for (let i = 0; i + 1 < stretches.length; i += 2) total += (stretches[i + 1] ?? 0) - (stretches[i] ?? 0);
  return total;
}

/** The parts of stretches within a range. */
export function clipped(stretches: Stretches, from: number, to: number): Stretches {
  const result: number[] = [];
  for (let i = 0; i + 1 < stretches.length; i += 2) {
    const [start, end] = [Math.max(stretches[i] ?? 0, from), Math.min(stretches[i + 1] ?? 0, to)];
    if (start < end) result.push(start, end);
  }
  return Float64Array.from(result);
}

/** @param busy when something was under way: between these, gaps of more than a minute are compressed */
export function timeScale(busy: Stretches, from: number, to: number, width: number): TimeScale {
  const end = Math.max(to, from + 1);
  const idle = idleBetween(busy, from, end);
  const gapPx = idle.length === 0 ? 0 : Math.min(GAP_PX, (width * GAPS_SHARE) / idle.length);
  const linear = end - from - idle.reduce((sum, [start, stop]) => sum + stop - start, 0);
  const perUs = (width - gapPx * idle.length) / Math.max(linear, 1);
  const moments = [from];
  const places = [0];
  const gaps: Gap[] = [];
  const upTo = (moment: number, px: number) => {
    moments.push(moment);
    places.push((places.at(-1) ?? 0) + px);
  };
  for (const [start, stop] of idle) {
    upTo(start, (start - (moments.at(-1) ?? from)) * perUs);
    gaps.push({ x: places.at(-1) ?? 0, width: gapPx, from: start, to: stop });
    upTo(stop, gapPx);
  }
  moments.push(end);
  places.push(width);
  return {
    ...{ from, to: end, width, gaps },
    x: (moment) => between(moments, places, moment),
    moment: (x) => between(places, moments, x),
  };
}

function idleBetween(busy: Stretches, from: number, to: number): [number, number][] {
  const idle: [number, number][] = [];
  for (let i = 1; i + 1 < busy.length; i += 2) {
    const [start, stop] = [Math.max(busy[i] ?? 0, from), Math.min(busy[i + 1] ?? 0, to)];
    if (stop - start > LONGEST_GAP_US) idle.push([start, stop]);
  }
  return idle;
}

/** The value at `key`, between the points that are given; at the ends the first and the last. */
function between(keys: readonly number[], values: readonly number[], key: number): number {
  let [low, high] = [0, keys.length - 1];
  if (key <= (keys[0] ?? 0)) return values[0] ?? 0;
  if (key >= (keys[high] ?? 0)) return values[high] ?? 0;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? 0) <= key) low = middle;
    else high = middle;
  }
  const [start, end] = [keys[low] ?? 0, keys[high] ?? 0];
  const share = end > start ? (key - start) / (end - start) : 0;
  return (values[low] ?? 0) + share * ((values[high] ?? 0) - (values[low] ?? 0));
}

const STEPS_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
];
const LONG_STEPS_S = [3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 31_536_000];
const TICK_PX = 84;

/** Round moments after an origin, at least so far apart that a label fits; none within a gap. */
export function ticks(scale: TimeScale, origin = scale.from): { x: number; us: number }[] {
  const active = scale.to - scale.from - scale.gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const least = (active / Math.max(scale.width, 1)) * TICK_PX;
  const step = ([...STEPS_S, ...LONG_STEPS_S].find((seconds) => seconds * 1e6 >= least) ?? 31_536_000) * 1e6;
  const result: { x: number; us: number }[] = [];
  const ends = [...scale.gaps.map(({ from }) => from), scale.to];
  const starts = [scale.from, ...scale.gaps.map(({ to }) => to)];
  for (const [n, start] of starts.entries())
    for (let us = Math.ceil((start - origin) / step) * step; us + origin <= (ends[n] ?? 0); us += step) {
      const x = scale.x(us + origin);
      const last = result.at(-1);
      if (x > scale.width - TICK_PX / 2) break;
      if (!last || x - last.x >= TICK_PX * 0.75) result.push({ x, us });
    }
  return result;
}
