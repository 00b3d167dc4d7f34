/** The ways to copy a span: its address, its text, the call again as a command. */
import { useEffect, useState } from 'preact/hooks';
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import type { Span } from '../../../../../model/span.ts';
import { readBody, readRawTurn } from '../../../api/raw-turns.ts';
import { hrefOf } from '../../../base.ts';
import { copyText } from '../../../parts/copy-text.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { showToast } from '../../../parts/toast.tsx';
import { token } from '../../../store/token.ts';
import { curlCommand, resumeCommand, verifyCommand } from '../copy-as.ts';
import { useSession } from '../session-store.ts';
import { blocksText, spanMarkdown } from './span-text.ts';

type CopyDialogProps = {
  sessionId: string;
  span: Span | null; // null: its text has not come
  ids: { trace_id: string; span_id: string };
  onClose: () => void;
};

const SHORT_BYTES = 8192;

export function CopyDialog({ sessionId, span, ids, onClose }: CopyDialogProps) {
  const { session } = useSession();
  const { harness_id = '', harness_session_id = '' } = session.value ?? {};
  const resume = resumeCommand(harness_id, harness_session_id);
  const raw = span?.raw_turn_id;
  const [turn, setTurn] = useState<RawTurnSides | null>(null);
  useEffect(() => {
    if (raw !== undefined) readRawTurn(raw).then(setTurn, (error: unknown) => showToast(String(error)));
  }, [raw]);
  const copy = (text: string | Promise<string>) => {
    onClose();
    Promise.resolve(text)
      .then((ready) => copyText(ready))
      .catch((error: unknown) => showToast(error instanceof Error ? error.message : 'It could not be copied'));
  };
  const ways: [name: string, make: () => string | Promise<string>][] = [
    ['Link', () => `${location.origin}${hrefOf(`/spans/${ids.trace_id}/${ids.span_id}`)}`],
  ];
  if (span) {
    ways.push(['Text', () => blocksText(span.output, span.input)]);
    ways.push(['Markdown', () => spanMarkdown(span)]);
    ways.push(['JSON of the span', () => JSON.stringify(span, null, 2)]);
  }
  if (turn && commandOf(turn, null) !== null) ways.push(['The call as curl', () => curlOf(turn)]);
  if (resume !== null) ways.push(['Resume command', () => resume]);
  ways.push(['Command that checks the session', () => verifyCommand(sessionId)]);
  return (
    <Dialog title="Copy as …" onClose={onClose}>
      <ul class="copy-ways">
        {ways.map(([name, make]) => (
          <li key={name}>
            <button type="button" data-copy={name} onClick={() => copy(make())}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** The call as a command; its body is in it where it is short. */
export async function curlOf(turn: RawTurnSides): Promise<string> {
  const isShort = turn.request_bytes < SHORT_BYTES;
  const bytes = isShort ? await readBody(turn.raw_turn_id, 'request', { as: 'decoded' }) : null;
  return commandOf(turn, bytes) ?? '';
}

export const commandOf = ({ request, ...turn }: RawTurnSides, bytes: Uint8Array | null): string | null =>
  curlCommand(
    { ...turn, headers: request.headers },
    {
      api: location.origin + hrefOf(''),
      needsToken: token.value !== null,
      body: bytes === null ? null : utf8(bytes),
    },
  );

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
