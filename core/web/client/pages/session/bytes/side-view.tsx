/** One side of a call: its headers, and its body in the form that fits. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { download } from '../../../api/download.ts';
import { ProblemError } from '../../../api/problem-error.ts';
import { bodyPath, readBody, type TurnSide } from '../../../api/raw-turns.ts';
import { moveOf } from '../../../key-strokes.ts';
import { Bytes } from '../../../parts/figure.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { showToast } from '../../../parts/toast.tsx';
import { bodyForm } from './body-form.ts';
import { BodyView } from './body-view.tsx';
import { Headers } from './headers.tsx';

type SideViewProps = { turn: RawTurnSides; side: TurnSide };
type Read = { bytes: Uint8Array; undecoded: string | null };

/** They stay while what is below them is another: one of them has the focus. */
export const SideTabs = ({ turn, side, onSide }: SideViewProps & { onSide: (side: TurnSide) => void }) => (
  <div class="side-tabs" role="tablist" aria-label="Side of the call">
    {(['request', 'response'] as const).map((one) => (
      <button
        key={one}
        type="button"
        role="tab"
        id={`side-${one}`}
        aria-selected={one === side}
        aria-controls="side-panel"
        tabIndex={one === side ? 0 : -1}
        onClick={() => onSide(one)}
        onKeyDown={(event) => {
          if (!moveOf({ ArrowLeft: true, ArrowRight: true }, event)) return;
          event.preventDefault();
          onSide(one === 'request' ? 'response' : 'request');
          document.getElementById(one === 'request' ? 'side-response' : 'side-request')?.focus();
        }}
      >
        {one === 'request' ? 'Request' : 'Answer'}{' '}
        <Bytes count={one === 'request' ? turn.request_bytes : turn.response_bytes} name={`${one}_bytes`} />
      </button>
    ))}
  </div>
);

export function SideView({ turn, side }: SideViewProps) {
  const { raw_turn_id } = turn;
  const own = turn[side];
  const [read, setRead] = useState<Read | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!own) return;
    const controller = new AbortController();
    setFailure(null);
    decodedBody(raw_turn_id, side, controller.signal).then(setRead, (error: unknown) => {
      if (!controller.signal.aborted) setFailure(error);
    });
    return () => controller.abort();
  }, [raw_turn_id, side, attempt]);
  const contentType = own?.headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  const form = useMemo(() => read && bodyForm(read.bytes, contentType), [read, contentType]);
  const wireBytes = side === 'request' ? turn.request_bytes : turn.response_bytes;
  const save = () =>
    download(bodyPath(raw_turn_id, side, 'wire'), `raw-turn-${raw_turn_id}-${side}.bin`).catch((error: unknown) =>
      showToast(error instanceof Error ? error.message : 'It could not be downloaded'),
    );
  return (
    <section class="side" data-side={side} data-state={failure ? 'error' : read || !own ? 'ready' : 'loading'}>
      <div id="side-panel" role="tabpanel" aria-labelledby={`side-${side}`}>
        {!own && <p>No answer came.</p>}
        {own && <Headers headers={own.headers} />}
        {own && (
          <div class="body-tools">
            <span>
              body <Bytes count={wireBytes} name="wire_bytes" />
              {own.content_encoding && (
                <>
                  {' '}
                  as <Recorded text={own.content_encoding} />
                  {read && read.undecoded === null && (
                    <>
                      {' '}
                      → <Bytes count={read.bytes.length} name="decoded_bytes" />
                    </>
                  )}
                </>
              )}
            </span>
            <button type="button" title="The exact bytes as they passed" onClick={() => void save()}>
              <Icon name="download" /> Download
            </button>
          </div>
        )}
        {failure !== null && <Problem error={failure} onRetry={() => setAttempt(attempt + 1)} />}
        {read?.undecoded && (
          <p class="undecoded">
            <Recorded text={read.undecoded} />, so its bytes are shown as they passed.
          </p>
        )}
        {read && form && <BodyView bytes={read.bytes} form={form} />}
      </div>
    </section>
  );
}

/** What cannot be decoded is shown as it passed. */
async function decodedBody(raw_turn_id: number, side: TurnSide, signal: AbortSignal): Promise<Read> {
  try {
    return { bytes: await readBody(raw_turn_id, side, { as: 'decoded', signal }), undecoded: null };
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 422) throw error;
    return { bytes: await readBody(raw_turn_id, side, { as: 'wire', signal }), undecoded: error.message };
  }
}
