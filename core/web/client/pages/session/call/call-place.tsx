/** Where a call stands: the way up to its session, the calls before and after it, and its two pages, context and bytes. */
import { useAddress } from '../../../address.ts';
import { hrefOf } from '../../../base.ts';
import { useKeys } from '../../../keys.ts';
import { neighbours, placeOf } from './call-order.ts';
import { type CallView, callPath } from './call-path.ts';
import type { SessionCalls } from './use-calls.ts';
import './call-place.css';

type CallPlaceProps = {
  session: string;
  raw_turn_id: number;
  of: SessionCalls;
  current: CallView;
  /** What of the query stays when another call is looked at, as `?side=response`. */
  kept: string;
};

const PAGES = [
  ['context', 'Context', '1'],
  ['bytes', 'Bytes', '2'],
] as const;

export function CallPlace({ session, raw_turn_id, of: { calls, spanOf }, current, kept }: CallPlaceProps) {
  const { go } = useAddress();
  const span = spanOf.get(raw_turn_id);
  const up = `/sessions/${session}${span ? `?span=${span}` : ''}`;
  const { before, after } = neighbours(calls, raw_turn_id);
  const goTo = (other: number | null) => {
    if (other === null) return false;
    go(callPath(session, other, current) + kept);
    return true;
  };
  useKeys(
    {
      '[': { does: 'previous call', run: () => goTo(before) },
      ']': { does: 'next call', run: () => goTo(after) },
      '1': { does: 'its context', run: () => go(callPath(session, raw_turn_id, 'context')) },
      '2': { does: 'its bytes', run: () => go(callPath(session, raw_turn_id, 'bytes')) },
      u: { does: 'up to the session', run: () => go(up) },
    },
    { scope: 'Call' },
  );
  return (
    <nav class="call-place" aria-label="Place">
      <a href={hrefOf(up)}>‹ session</a>
      <span class="call-pages">
        {PAGES.map(([page, word, key]) => (
          <a
            key={page}
            href={hrefOf(callPath(session, raw_turn_id, page))}
            aria-current={page === current ? 'page' : undefined}
            aria-keyshortcuts={key}
          >
            {word}
          </a>
        ))}
      </span>
      <span class="call-number-of">{placeOf(calls, raw_turn_id)}</span>
      <button
        type="button"
        title="Previous call ([)"
        aria-keyshortcuts="["
        disabled={before === null}
        onClick={() => goTo(before)}
      >
        [ previous
      </button>
      <button
        type="button"
        title="Next call (])"
        aria-keyshortcuts="]"
        disabled={after === null}
        onClick={() => goTo(after)}
      >
        next ]
      </button>
    </nav>
  );
}
