/** The text that a tool returned, shown as what it looks like. */
import { Formatted } from '../../../parts/formatted.tsx';
import { Visible } from '../../../parts/recorded.tsx';
import { FoldedText } from './folded-text.tsx';
import { numberedLines, resultKind } from './result-kind.ts';
import { FIRST } from './row-height.ts';
import { useIsPlain } from './text-block.tsx';
import './result-text.css';

export function ResultText({ id, text }: { id: string; text: string }) {
  const isPlain = useIsPlain();
  const kind = isPlain ? 'plain' : resultKind(text);
  return (
    <FoldedText id={id} text={text} first={FIRST.result}>
      {(shown) => {
        if (kind === 'numbered') return <Numbered text={shown} />;
        if (kind === 'plain' || (kind === 'json' && shown.length < text.length)) return <Plain text={shown} />;
        return <Formatted kind={kind} text={shown} />;
      }}
    </FoldedText>
  );
}

/** Lines with their numbers beside them, which are neither selected nor copied with the text. */
function Numbered({ text }: { text: string }) {
  const { numbers, lines } = numberedLines(text);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, which keys have to reach
    <div class="numbered" tabIndex={0}>
      <pre class="gutter" aria-hidden="true">
        {numbers.join('\n')}
      </pre>
      <pre class="lines" dir="auto">
        <Visible text={lines.join('\n')} />
      </pre>
    </div>
  );
}

export const Plain = ({ text }: { text: string }) => (
  <pre class="plain-text" dir="auto">
    <Visible text={text} />
  </pre>
);
