/** A long recorded text: its beginning, and a button for more of it. */
import type { ComponentChildren } from 'preact';
import { Formatted } from '../../../parts/formatted.tsx';
import { useTalk } from './talk-context.ts';
import { cutAt, linesIn } from './text-cut.ts';
import './folded-text.css';

/** How much more a press shows: few enough characters that laying them out delays nothing. */
const MORE = { lines: 2_000, characters: 65_536 };

type FoldedTextProps = {
  id: string; // by which it is remembered how much is shown
  text: string;
  first: { lines: number; characters: number };
  children: (text: string, from: number) => ComponentChildren;
};

export function FoldedText({ id, text, first, children }: FoldedTextProps) {
  const { folds } = useTalk();
  const end = Math.max(cutAt(text, first), Math.min(folds.shown(id), text.length));
  const rest = text.length - end;
  const showMore = () => folds.showMore(id, end + cutAt(text.slice(end, end + MORE.characters + 1_000), MORE));
  return (
    <div class="folded-text">
      {children(text.slice(0, end), end)}
      {rest > 0 && (
        <button type="button" class="more" data-more={rest} onClick={showMore}>
          {moreWords(text, end)}
        </button>
      )}
    </div>
  );
}

function moreWords(text: string, end: number): string {
  const lines = linesIn(text, end);
  const rest = text.length - end;
  return lines > 1 ? `${lines.toLocaleString('en')} more lines` : `${rest.toLocaleString('en')} more characters`;
}

/** Text of a person or a model. */
export const Prose = ({ id, text, first }: Omit<FoldedTextProps, 'children'>) => (
  <FoldedText id={id} text={text} first={first}>
    {(shown) => <Formatted kind="markdown" text={shown} />}
  </FoldedText>
);
