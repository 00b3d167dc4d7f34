/** Since when the newest texts of the index are, read again now and then: to count 65,536 of them takes longer than most searches. */
import type { Database } from '../../db/database.ts';

type Execute = Database['execute'];

/** Texts that come meanwhile only make the windows larger. */
const AGAIN_MS = 10_000;

const known = new WeakMap<Execute, { windows: Promise<readonly string[]>; until: number }>();

/** The beginnings of windows over the newest texts, the smallest window first; none where there are few texts. */
export function textWindows(execute: Execute): Promise<readonly string[]> {
  const before = known.get(execute);
  if (before && performance.now() < before.until) return before.windows;
  const windows = execute('textWindows', {});
  windows.catch(() => known.delete(execute));
  known.set(execute, { windows, until: performance.now() + AGAIN_MS });
  return windows;
}
