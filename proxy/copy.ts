/** The copy that is kept of a call as it passes: bounded, in the journal; when it cannot be whole, that is recorded. */
import { outcomeOfCopy } from '../core/call/outcome.ts';
import type { CallCopy } from '../core/capture/journal-copy.ts';
import type { CallClosed } from '../core/capture/journal-format.ts';
import { redactHeaders } from '../core/capture/redact.ts';
import type { Outcome } from '../core/model/coverage.ts';
import type { CallObserver } from './forward.ts';

type CopyOptions = {
  keep: 'full' | 'metadata';
  maxBodyBytes: number; // of each side
  declaredBytes: number; // the request's Content-Length; 0 when it has none
  now: () => string;
  /** Called once, at the end of the call. Intake may correct the outcome when it has read the bytes. */
  onOutcome: (outcome: Outcome) => void;
};

/** The observer that writes into `copy`. */
export function keepCopy(
  copy: CallCopy,
  { keep, maxBodyBytes, declaredBytes, now, onOutcome }: CopyOptions,
): CallObserver {
  const full = keep === 'full';
  let requestLength = 0;
  let responseLength = 0;
  let overLimit = full && declaredBytes > maxBodyBytes;
  let cut: CallClosed['cut'] = overLimit ? 'request' : 'none';
  return {
    requestBytes(bytes) {
      requestLength += bytes.length;
      if (!full || overLimit) return;
      if (requestLength > maxBodyBytes) {
        overLimit = true; // also where its beginning had no room: it would not have been kept
        cut = 'request';
      } else if (cut !== 'request' && !copy.requestBytes(bytes)) cut = 'request';
    },
    responseHead(status, raw) {
      copy.responseHead({ status, headers: redactHeaders(raw), first_byte_at: now() });
    },
    responseBytes(bytes) {
      responseLength += bytes.length;
      if (!full || cut !== 'none') return; // a response without its request is of no use
      if (responseLength > maxBodyBytes || !copy.responseBytes(bytes)) cut = 'response';
    },
    ended(ending, requestWhole) {
      if (ending === 'complete' && cut !== 'none' && !overLimit) ending = 'overflow';
      if (!requestWhole) cut = 'request';
      copy.close({
        ending,
        last_byte_at: now(),
        request_bytes: requestLength,
        response_bytes: responseLength,
        cut,
        over_limit: overLimit,
      });
      onOutcome(outcomeOfCopy({ over_limit: overLimit, ending, cut }));
    },
  };
}

/** The observer that does nothing, for calls whose outcome has been recorded already. */
export const noCopy: CallObserver = { requestBytes() {}, responseHead() {}, responseBytes() {}, ended() {} };
