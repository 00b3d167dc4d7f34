/** How many turns are too many for the size that the database may have. */
import type { StoredSize } from '../../db/retention/stored-size.ts';

/** Removed down to this share of the limit, so that not every turn that comes in has one removed. */
const TARGET = 0.95;

/** `bytes` on disk count without those that are free for new rows. 0: it is not too large. */
export function excessTurns(
  { bytes, free_bytes, turns, turn_bytes }: StoredSize,
  maxBytes: number | null,
): { turns: number; bytes: number } {
  const stored = bytes - free_bytes;
  if (maxBytes === null || stored <= maxBytes || turn_bytes === 0) return { turns: 0, bytes: 0 };
  const excess = stored - maxBytes * TARGET;
  return { turns: Math.min(turns, Math.ceil(excess / turn_bytes)), bytes: Math.round(stored - maxBytes) };
}
