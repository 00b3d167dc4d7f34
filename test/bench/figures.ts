/** How are figures put? Percentiles of samples, and rows of one width. */

export function percentiles(samples: readonly number[]): { p50: number; p99: number } {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`;
export const row = (...cells: string[]) =>
  console.log(`  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(46) : cell.padStart(14))).join('')}`);
export const heading = (text: string) => console.log(`\n${text}`);
