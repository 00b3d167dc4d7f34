/** The timing of a call as a bar: sent, the wait for the first byte, and the stream to the last. */
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { Duration } from '../../../parts/figure.tsx';
import { momentText } from '../../../parts/number-text.ts';
import { instantUs } from '../../../store/outline-columns.ts';

export function TimingBar({ turn: { requested_at, first_byte_at, last_byte_at } }: { turn: RawTurnSides }) {
  const sent = instantUs(requested_at);
  const first = first_byte_at === undefined ? null : instantUs(first_byte_at);
  const last = last_byte_at === undefined ? null : instantUs(last_byte_at);
  const end = Math.max(last ?? first ?? sent, sent);
  const wait = first === null ? null : Math.max(0, first - sent);
  const stream = first === null || last === null ? null : Math.max(0, last - first);
  const share = wait === null || end === sent ? 0 : Math.min(1, wait / (end - sent));
  return (
    <div class="timing">
      <span class="timing-bar" aria-hidden="true" data-share={share}>
        <span class="timing-wait" style={{ width: `${share * 100}%` }} />
      </span>
      <span>
        sent <time dateTime={requested_at}>{momentText(sent / 1000)}</time>
      </span>
      {wait !== null && (
        <span>
          first byte after <Duration us={wait} name="wait_us" />
        </span>
      )}
      {stream !== null && (
        <span>
          stream <Duration us={stream} name="stream_us" />
        </span>
      )}
      <span>
        in all <Duration us={last === null ? null : end - sent} />
      </span>
    </div>
  );
}
