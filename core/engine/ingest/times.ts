/** The times of an ingested call: what its sender states, without what cannot be right. */
import { instantOf, microsIn, within } from '../../model/rfc-3339.ts';

/** Instants of the sender's clock: when the request went out, when the answer was whole, and how long that took. */
type SenderTimes = { ts_request?: unknown; captured_at?: unknown; elapsed_seconds?: unknown };

export type CallTimes = { requested_at: string; last_byte_at: string };

/** Impossible values are ignored. @param now when the call arrived here, for a sender that states no time */
export function timesOf(times: SenderTimes, now: () => string): CallTimes {
  const captured = microsIn(times.captured_at);
  const sent = microsIn(times.ts_request);
  const elapsed = elapsedIn(times.elapsed_seconds);
  const began = captured !== null && elapsed !== null ? within(captured - elapsed) : null;
  const requested = began ?? sent ?? captured;
  if (requested === null) {
    const requested_at = now();
    return { requested_at, last_byte_at: requested_at };
  }
  const ended = captured ?? (elapsed === null ? null : within(requested + elapsed)) ?? requested;
  return { requested_at: instantOf(requested), last_byte_at: instantOf(ended < requested ? requested : ended) };
}

const LONGEST_SECONDS = 7 * 86_400;

const elapsedIn = (seconds: unknown): bigint | null =>
  typeof seconds === 'number' && seconds > 0 && seconds <= LONGEST_SECONDS ? BigInt(Math.round(seconds * 1e6)) : null;
