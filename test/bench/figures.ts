/** How are figures put? Percentiles of samples, and rows of one width. */

export function percentiles(samples: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`;
export const row = (...cells: string[]) =>
  console.log(`  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(46) : cell.padStart(14))).join('')}`);
/** A figure beside the most that it may be. */
export const bounded = (name: string, figure: number, most: number, put: (value: number) => string = wholeMs) =>
  row(name, put(figure), `  at most ${put(most)}`, figure <= most ? '' : 'missed');
export const wholeMs = (value: number) => `${Math.round(value)} ms`;
export const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
export const median = (samples: readonly number[]): number => percentiles(samples).p50;
export const heading = (text: string) => console.log(`\n${text}`);
