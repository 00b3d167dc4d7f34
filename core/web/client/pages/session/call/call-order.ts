/** The place of a call among those of its session. */

/** @param calls the numbers of raw turns in order of time; null: there is none before or after */
export function neighbours(
  calls: readonly number[],
  raw_turn_id: number,
): { before: number | null; after: number | null } {
  const at = calls.indexOf(raw_turn_id);
  if (at < 0) return { before: null, after: null };
  return { before: calls[at - 1] ?? null, after: calls[at + 1] ?? null };
}

/** In words; '' where the calls are not known yet. */
export function placeOf(calls: readonly number[], raw_turn_id: number): string {
  const at = calls.indexOf(raw_turn_id);
  return at < 0 ? '' : `call ${at + 1} of ${calls.length}`;
}

/** What a call is called: its place in the session, or its raw turn where that is not known. */
export function callWord(calls: readonly number[], raw_turn_id: number): string {
  const at = calls.indexOf(raw_turn_id);
  return at < 0 ? `raw turn ${raw_turn_id}` : `call ${at + 1}`;
}
