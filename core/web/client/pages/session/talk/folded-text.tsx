/** A long recorded text: its beginning, and a button for more of it. */
import type { ComponentChildren } from 'preact';
import { Formatted } from '../../../parts/formatted.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { PlainText } from '../../../parts/plain-text.tsx';
import type { Reveal } from './folds.ts';
import { useTalk } from './talk-context.ts';
import { useIsPlain, useReveal } from './text-block.tsx';
import { cutAt, linesIn, wellCut } from './text-cut.ts';
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
  const from = Math.min(folds.from(id), text.length);
  const end = Math.max(from > 0 ? from : cutAt(text, first), Math.min(folds.shown(id), text.length));
  const rest = text.length - end;
  const showMore = () => folds.showMore(id, end + cutAt(text.slice(end, end + MORE.characters + 1_000), MORE));
  useReveal((reveal) => {
    const at = placeIn(text, reveal);
    if (at < 0 || (at >= from && at + reveal.match.length <= end)) return;
    const { start, to } = shownAround(text, at, reveal.match.length);
    folds.showMore(id, to, start);
  }, text.length);
  return (
    <div class="folded-text">
      {from > 0 && (
        <button type="button" class="more" data-before={from} onClick={() => folds.showMore(id, 0, 0)}>
          from its beginning: {grouped(from)} characters before
        </button>
      )}
      {children(text.slice(from, end), end)}
      {rest > 0 && (
        <button type="button" class="more" data-more={rest} onClick={showMore}>
          {moreWords(text, end)}
        </button>
      )}
    </div>
  );
}

/** What is shown around a text that was gone to: all from the beginning, or of a very long text what is near. */
const NEAR = 4_000;

/** Where a text stands; elsewhere than at its offset where the text is shown in parts; -1: it is not here. */
const placeIn = (text: string, { start, match }: Reveal): number =>
  text.startsWith(match, start) ? start : text.indexOf(match);

function shownAround(text: string, at: number, length: number): { start: number; to: number } {
  const to = lineEnd(text, at + length + NEAR / 4);
  if (to <= MORE.characters) return { start: 0, to };
  return { start: text.lastIndexOf('\n', at - 1) + 1 || wellCut(text, Math.max(0, at - NEAR)), to };
}

/** The end of the line at a place, where it is near. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 || end - at > NEAR ? wellCut(text, Math.min(text.length, at + NEAR)) : end + 1;
}

function moreWords(text: string, end: number): string {
  const lines = linesIn(text, end);
  const rest = text.length - end;
  return lines > 1 ? `${grouped(lines)} more lines` : `${grouped(rest)} more characters`;
}

/** Text of a person or a model. */
export function Prose({ id, text, first }: Omit<FoldedTextProps, 'children'>) {
  const isPlain = useIsPlain();
  return (
    <FoldedText id={id} text={text} first={first}>
      {(shown) => (isPlain ? <PlainText text={shown} /> : <Formatted kind="markdown" text={shown} />)}
    </FoldedText>
  );
}
