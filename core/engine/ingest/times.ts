/** The times of an ingested call: what its sender states, without what cannot be right. */
import { instantOf, latestStated, microsIn, within } from '../../model/rfc-3339.ts';

/** Instants of the sender's clock: when the request went out, when the answer was whole, and how long that took. */
type SenderTimes = { ts_request?: unknown; captured_at?: unknown; elapsed_seconds?: unknown };

export type CallTimes = { requested_at: string; last_byte_at: string };

/** Impossible values are ignored, and those far ahead. @param now when the call arrived here, for a sender that states no time */
export function timesOf(times: SenderTimes, now: () => string): CallTimes {
  const arrived = now();
  const captured = stated(times.captured_at, arrived);
  const sent = stated(times.ts_request, arrived);
  const elapsed = elapsedIn(times.elapsed_seconds);
  const began = captured !== null && elapsed !== null ? within(captured - elapsed) : null;
  const requested = began ?? sent ?? captured;
  if (requested === null) return { requested_at: arrived, last_byte_at: arrived };
  const ended = captured ?? (elapsed === null ? null : within(requested + elapsed)) ?? requested;
  return { requested_at: instantOf(requested), last_byte_at: instantOf(ended < requested ? requested : ended) };
}

const stated = (input: unknown, now: string): bigint | null => {
  const micros = microsIn(input);
  return micros !== null && instantOf(micros) <= latestStated(now) ? micros : null;
};

const LONGEST_SECONDS = 7 * 86_400;

const elapsedIn = (seconds: unknown): bigint | null =>
  typeof seconds === 'number' && seconds > 0 && seconds <= LONGEST_SECONDS ? BigInt(Math.round(seconds * 1e6)) : null;
