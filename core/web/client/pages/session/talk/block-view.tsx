/** One block of a message. */
import { Recorded } from '../../../parts/recorded.tsx';
import type { ShownBlock } from './blocks.ts';
import { Prose } from './folded-text.tsx';
import { ImageBlock } from './image-block.tsx';
import { RecordedValue } from './recorded-value.tsx';
import { ResultText } from './result-text.tsx';
import { FIRST } from './row-height.ts';
import { Thinking } from './thinking.tsx';

/** @param id of the block, by which folds are remembered @param whole whether nothing of it is shortened */
export function BlockView({
  id,
  block,
  whole,
  as,
}: {
  id: string;
  block: ShownBlock;
  whole: boolean;
  as: 'prose' | 'result';
}) {
  switch (block.kind) {
    case 'text':
      if (as === 'result') return <ResultText id={id} text={block.text} />;
      return (
        <>
          {block.type !== 'text' && <TypeName type={block.type} />}
          <Prose id={id} text={block.text} first={FIRST.answer} />
        </>
      );
    case 'thinking':
      return <Thinking id={id} text={block.text} hidden={block.hidden} />;
    case 'image':
      return <ImageBlock block={block} whole={whole} />;
    case 'unknown':
      return (
        <div data-block={block.type}>
          <TypeName type={block.type} />
          <RecordedValue value={block.value} />
        </div>
      );
  }
}

/** The provider's word for a block. */
const TypeName = ({ type }: { type: string }) => (
  <p class="block-type">
    <Recorded text={type} />
  </p>
);
