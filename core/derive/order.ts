/** The order in which calls are folded: by (requested_at, call_id), whatever order they were stored in. */
import type { CallTurn } from './turn.ts';

/** The sort key of a call in its session. Compared as the database compares with collation "C": instants as text, ids by bytes. */
export type CallKey = { requested_at: string; call_id: string };

export const keyOf = ({ requested_at, call_id }: CallTurn | CallKey): CallKey => ({ requested_at, call_id });

/** Negative when the first is folded before the second. */
export function compareKeys(one: CallKey, other: CallKey): number {
  if (one.requested_at !== other.requested_at) return one.requested_at < other.requested_at ? -1 : 1;
  return Buffer.compare(Buffer.from(one.call_id), Buffer.from(other.call_id));
}
