/** The blocks of a span in its panel: each by its kind. */
import { useState } from 'preact/hooks';
import type { ContentBlock } from '../../../../../model/content-block.ts';
import { Formatted } from '../../../parts/formatted.tsx';
import { JsonRows } from '../../../parts/json-rows.tsx';
import { countText } from '../../../parts/number-text.ts';
import { PlainText } from '../../../parts/plain-text.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { blockText } from './span-text.ts';

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
  const text = blockText(block);
  if (block.image_base64 !== undefined || block.image_url !== undefined) return <Image block={block} />;
  if (block.tool_input !== undefined && typeof block.tool_input === 'object')
    return (
      <div data-block={block.type}>
        {block.tool_name && <Recorded text={block.tool_name} />}
        <JsonRows value={block.tool_input} />
      </div>
    );
  if (block.content !== undefined && block.text === undefined && block.tool_output === undefined)
    return (
      <div data-block={block.type}>
        <span class="muted">
          <Recorded text={block.type} />
        </span>
        <JsonRows value={block.content} />
      </div>
    );
  if (text === '') return <p class="muted">{emptyWord(block)}</p>;
  const kind = block.tool_output === undefined ? 'markdown' : 'ansi';
  return (
    <div class={block.thinking === undefined ? 'span-block' : 'span-block thinking'} data-block={block.type} dir="auto">
      {block.thinking === undefined ? <Formatted kind={kind} text={text} /> : <PlainText text={text} />}
    </div>
  );
}

/** In words: a thumbnail is in Talk, and an address is never fetched. */
function Image({ block: { image_url, image_base64, media_type } }: { block: ContentBlock }) {
  const size = image_base64 === undefined ? '' : `, ${countText(Math.floor(image_base64.length * 0.75))} bytes`;
  return (
    <p data-block="image">
      image <Recorded text={media_type ?? ''} />
      {size} {image_url !== undefined && <Recorded text={image_url.slice(0, 2000)} />}
    </p>
  );
}

const emptyWord = ({ thinking_signature, type }: ContentBlock): string =>
  thinking_signature === undefined ? `${type}: empty` : `thinking, which the provider sent encrypted`;
