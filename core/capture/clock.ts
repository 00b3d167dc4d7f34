/** What time is it, to the microsecond? `2026-11-21T09:30:00.123456Z`, which compares as text in the order of time. */

let named = { second: Number.NaN, text: '' }; // the last second that was asked for: nearly always the next one asked is of it too

/** An instant out of milliseconds since 1970, fractions included. */
export function instantOf(ms: number): string {
  const micros = Math.floor(ms * 1000);
  const second = Math.floor(micros / 1e6);
  if (second !== named.second) named = { second, text: new Date(second * 1000).toISOString().slice(0, 20) };
  return `${named.text}${String(1e6 + (micros - second * 1e6)).slice(1)}Z`;
}

/**
 * A clock that counts in the steps of `elapsed` and follows `wall`. Node's own high-resolution time stands still while a machine
 * sleeps and knows nothing of a clock set right, so alone it would drift for good. It never runs backwards, unless the wall
 * clock was set back by more than a second.
 * @param wall milliseconds since 1970, whole ones
 * @param elapsed the same in fractions, as far as it can know
 */
export function clockOf(wall: () => number, elapsed: () => number): () => string {
  let correction = 0;
  let last = 0;
  return () => {
    const true_ms = wall();
    let ms = elapsed() + correction;
    if (Math.abs(true_ms - ms) > 10) {
      correction += true_ms - ms;
      ms = true_ms;
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
