/** What is kept of a call as it passes? A bounded copy in the journal; when it cannot be whole, that is written down. */
import type { CallCopy } from '../core/capture/journal.ts';
import type { CallAnswered, CallClosed } from '../core/capture/journal-format.ts';
import { type RedactedHeaders, redactHeaders } from '../core/capture/redact.ts';
import type { Outcome } from '../core/model/coverage.ts';
import type { CallObserver } from './forward.ts';

type Keeping = {
  keep: 'full' | 'metadata';
  maxBodyBytes: number; // of each side
  declaredBytes: number; // the request's Content-Length; 0 when it has none
  now: () => string;
  /** How the call stands in the books, once, at its end. Intake may know more when it has read the bytes. */
  booked: (outcome: Outcome) => void;
};

/** A copy that takes no headers but redacted ones. */
export type RedactedCopy = Omit<CallCopy, 'answered'> & {
  answered(head: CallAnswered & { headers: RedactedHeaders }): void;
};

/** The witness that writes into `copy`. */
export function keepCopy(
  copy: RedactedCopy,
  { keep, maxBodyBytes, declaredBytes, now, booked }: Keeping,
): CallObserver {
  const full = keep === 'full';
  let requestBytes = 0;
  let responseBytes = 0;
  let overLimit = full && declaredBytes > maxBodyBytes;
  let cut: CallClosed['cut'] = overLimit ? 'request' : 'none';
  return {
    asked(bytes) {
      requestBytes += bytes.length;
      if (!full || cut === 'request') return;
      if (requestBytes > maxBodyBytes) {
        overLimit = true;
        cut = 'request';
      } else if (!copy.asked(bytes)) cut = 'request';
    },
    answered(status, raw) {
      copy.answered({ status, headers: redactHeaders(raw), first_byte_at: now() });
    },
    replied(bytes) {
      responseBytes += bytes.length;
      if (!full || cut !== 'none') return; // an answer without its request is of no use
      if (responseBytes > maxBodyBytes || !copy.replied(bytes)) cut = 'response';
    },
    ended(ending, requestWhole) {
      if (ending === 'complete' && cut !== 'none' && !overLimit) ending = 'overflow';
      if (!requestWhole) cut = 'request';
      copy.close({
        ending,
        last_byte_at: now(),
        request_bytes: requestBytes,
        response_bytes: responseBytes,
        cut,
        over_limit: overLimit,
      });
      booked(overLimit ? 'over_limit' : ending === 'complete' && cut === 'none' ? 'captured' : 'partial');
    },
  };
}

/** Sees everything and keeps nothing: the call has its place in the books already. */
export const noCopy: CallObserver = { asked() {}, answered() {}, replied() {}, ended() {} };
