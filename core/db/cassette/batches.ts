/** The number of rows of the next fetch: about a megabyte, estimated from the last batch. */

const FIRST = 20;
const MOST = 5000;
const BATCH_CHARS = 1024 * 1024;

/** @param lines the last batch, for which `count` rows were requested; empty at the beginning */
export function nextCount(lines: readonly string[], count: number): number {
  if (lines.length === 0) return count || FIRST;
  const chars = lines.reduce((sum, line) => sum + line.length, 0);
  const fitting = Math.floor((BATCH_CHARS * lines.length) / Math.max(1, chars));
  return Math.max(1, Math.min(MOST, count * 8, fitting));
}
