/** The head of a call: its request line, how it was answered and how it ended, and the ways to take it along. */
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { commandOf, curlOf } from '../span-panel/copy-dialog.tsx';

export function BytesHead({ turn }: { turn: RawTurnSides }) {
  const { method = '', url = '', status, ending, outcome, provider, source } = turn;
  const isWell = status !== undefined && status < 400 && ending === 'complete';
  const words = [status ?? 'no answer', ending.replaceAll('_', ' '), outcome === 'captured' ? '' : outcome];
  return (
    <header class="bytes-head">
      <h1>
        <Recorded text={source === 'transcript' ? 'a record of a transcript' : `${method} ${url}`} />
      </h1>
      <StatusMark
        status={isWell ? 'ok' : ending === 'complete' ? 'error' : 'partial'}
        word={words.filter((word) => word !== '').join(' · ')}
      />
      {provider && <Recorded text={provider} />}
      {commandOf(turn, null) !== null && (
        <CopyButton text={() => curlOf(turn)} label="Copy the call as a curl command">
          curl
        </CopyButton>
      )}
    </header>
  );
}
