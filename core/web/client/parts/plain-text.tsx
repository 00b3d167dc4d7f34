/** A recorded text as it is, in pieces that the browser lays out as they come into view; a very long one is shown step by step. */
import { useState } from 'preact/hooks';
import { bytesText } from './number-text.ts';
import { Visible } from './recorded.tsx';
import { textPieces } from './text-pieces.ts';

const STEP = 200_000;

export function PlainText({ text, isMono = false }: { text: string; isMono?: boolean }) {
  const [shown, setShown] = useState(STEP);
  const rest = text.length - shown;
  return (
    <div class={isMono ? 'plain-text mono' : 'plain-text'} dir="auto">
      {textPieces(text.slice(0, shown)).map((piece, i) => (
        <div class="text-piece" key={i}>
          <Visible text={piece} />
        </div>
      ))}
      {rest > 0 && (
        <button type="button" onClick={() => setShown(shown + STEP)}>
          Show more of it ({bytesText(rest)} are left)
        </button>
      )}
    </div>
  );
}
