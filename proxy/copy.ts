/** The copy that is kept of a call as it passes: bounded, in the journal; when it cannot be whole, that is recorded. */
import { outcomeOfCopy } from '../core/call/outcome.ts';
import type { CallCopy } from '../core/capture/journal.ts';
import type { CallClosed, ResponseHead } from '../core/capture/journal-format.ts';
import { type RedactedHeaders, redactHeaders } from '../core/capture/redact.ts';
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

/** A copy that takes no headers but redacted ones. */
export type RedactedCopy = Omit<CallCopy, 'responseHead'> & {
  responseHead(head: ResponseHead & { headers: RedactedHeaders }): void;
};

/** The observer that writes into `copy`. */
export function keepCopy(
  copy: RedactedCopy,
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
      if (!full || cut === 'request') return;
      if (requestLength > maxBodyBytes) {
        overLimit = true;
        cut = 'request';
      } else if (!copy.requestBytes(bytes)) cut = 'request';
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
