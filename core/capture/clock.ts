/** This process's clock, to the microsecond: `2026-11-21T09:30:00.123456Z`. Such instants compare as text in the order of time. */

let lastSecond = { second: Number.NaN, text: '' }; // the second formatted last: the next instant nearly always lies in it too

/** An instant from milliseconds since 1970, fractions included. */
export function instantOf(ms: number): string {
  const micros = Math.floor(ms * 1000);
  const second = Math.floor(micros / 1e6);
  if (second !== lastSecond.second) lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, 20) };
  return `${lastSecond.text}${String(1e6 + (micros - second * 1e6)).slice(1)}Z`;
}

/**
 * A clock that counts in the steps of `elapsed` and is corrected by `wall`. Node's high-resolution time stops while a machine sleeps
 * and ignores corrections of the system clock, so alone it would drift for good. The clock never runs backwards, unless the wall
 * clock was set back by more than a second.
 * @param wall milliseconds since 1970, whole ones
 * @param elapsed the same with fractions, as precise as the platform allows
 */
export function clockOf(wall: () => number, elapsed: () => number): () => string {
  let correction = 0;
  let last = 0;
  return () => {
    const wallMs = wall();
    let ms = elapsed() + correction;
    if (Math.abs(wallMs - ms) > 10) {
      correction += wallMs - ms;
      ms = wallMs;
    }
    last = ms < last && last - ms < 1000 ? last : ms;
    return instantOf(last);
  };
}

const clock = clockOf(
  () => Date.now(),
  () => performance.timeOrigin + performance.now(),
);

/** Now, by this process's clock. */
export const instantNow = (): string => clock();
