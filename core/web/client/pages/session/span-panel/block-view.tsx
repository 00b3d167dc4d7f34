/** The blocks of a span in its panel: each by its kind. */
import { useState } from 'preact/hooks';
import type { ContentBlock } from '../../../../../model/content-block.ts';
import { Formatted } from '../../../parts/formatted.tsx';
import { PlainText } from '../../../parts/plain-text.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { type ShownBlock, shownBlocks } from '../talk/blocks.ts';
import { ImageBlock } from '../talk/image-block.tsx';
import { RecordedValue } from '../talk/recorded-value.tsx';

const SHOWN_BLOCKS = 50;

export function Blocks({ title, blocks }: { title: string; blocks: readonly ContentBlock[] }) {
  const [all, setAll] = useState(false);
  if (blocks.length === 0) return null;
  const shown = all ? blocks : blocks.slice(0, SHOWN_BLOCKS);
  return (
    <section class="span-blocks" data-blocks={title.toLowerCase()}>
      <h3>{title}</h3>
      {shown.map((block, n) => (
        <BlockView key={n} block={block} />
      ))}
      {shown.length < blocks.length && (
        <button type="button" onClick={() => setAll(true)}>
          {blocks.length - shown.length} more
        </button>
      )}
    </section>
  );
}

function BlockView({ block }: { block: ContentBlock }) {
  if (block.tool_input !== undefined)
    return (
      <div data-block={block.type}>
        {block.tool_name && <Recorded text={block.tool_name} />}
        <RecordedValue value={block.tool_input} />
      </div>
    );
  const shown = shownBlocks(block, 0);
  if (shown.length === 0) return <p class="muted">empty</p>;
  return (
    <div class="span-block" data-block={block.type}>
      {shown.map((part, n) => (
        <Shown key={n} part={part} isResult={block.tool_output !== undefined || block.content !== undefined} />
      ))}
    </div>
  );
}

function Shown({ part, isResult }: { part: ShownBlock; isResult: boolean }) {
  switch (part.kind) {
    case 'text':
      return <Formatted kind={isResult ? 'ansi' : 'markdown'} text={part.text} />;
    case 'thinking':
      if (part.hidden > 0) return <p class="muted">thinking, which the provider sent encrypted</p>;
      return (
        <div class="thinking">
          <PlainText text={part.text} />
        </div>
      );
    case 'image':
      return <ImageBlock block={part} whole />;
    case 'unknown':
      return (
        <>
          <p class="muted">
            <Recorded text={part.type} />
          </p>
          <RecordedValue value={part.value} />
        </>
      );
  }
}
