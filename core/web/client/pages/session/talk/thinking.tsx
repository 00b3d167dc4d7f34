/** What a model thought before it answered: three lines until it is opened. The provider's signature is never shown. */
import { Bytes } from '../../../parts/figure.tsx';
import { Visible } from '../../../parts/recorded.tsx';
import { FoldedText } from './folded-text.tsx';
import { FIRST } from './row-height.ts';
import { useTalk } from './talk-context.ts';
import { useReveal } from './text-block.tsx';
import { cutAt, linesIn } from './text-cut.ts';
import './thinking.css';

const FOLDED = { lines: 3, characters: 300 };

export function Thinking({ id, text, hidden }: { id: string; text: string; hidden: number }) {
  const { folds } = useTalk();
  const open = folds.isOpen('thinking', id);
  const isLong = cutAt(text, FOLDED) < text.length;
  useReveal(() => {
    if (isLong && !open) folds.toggle('thinking', id);
  }, text.length);
  if (text === '')
    return (
      <p class="thinking encrypted">
        <span class="thinking-name">thinking</span> the provider sent it encrypted, <Bytes count={hidden} />
      </p>
    );
  return (
    <div class="thinking">
      <button type="button" class="fold" aria-expanded={open || !isLong} onClick={() => folds.toggle('thinking', id)}>
        <span class="thinking-name">thinking</span>
        {isLong && (
          <span class="muted">
            {linesIn(text)} lines {open ? '▾' : '▸'}
          </span>
        )}
      </button>
      {open ? (
        <FoldedText id={`thinking ${id}`} text={text} first={FIRST.answer}>
          {(shown) => <Words text={shown} />}
        </FoldedText>
      ) : (
        <Words text={isLong ? `${text.slice(0, cutAt(text, FOLDED)).trimEnd()} …` : text} />
      )}
    </div>
  );
}

const Words = ({ text }: { text: string }) => (
  <p class="thinking-words" dir="auto">
    <Visible text={text} />
  </p>
);
