/** One block of a message. */
import { Recorded } from '../../../parts/recorded.tsx';
import { blockKey } from './block-key.ts';
import type { ShownBlock } from './blocks.ts';
import { Prose } from './folded-text.tsx';
import { ImageBlock } from './image-block.tsx';
import { RecordedValue } from './recorded-value.tsx';
import { ResultText } from './result-text.tsx';
import { FIRST } from './row-height.ts';
import { TextBlock } from './text-block.tsx';
import { Thinking } from './thinking.tsx';

type BlockViewProps = {
  id: string; // by which folds are remembered
  of: { span_id: string; side: 'input' | 'output' };
  block: ShownBlock;
  whole: boolean; // whether nothing of it is shortened
  as: 'prose' | 'result';
};

export const BlockView = ({ of: { span_id, side }, ...shown }: BlockViewProps) => (
  <TextBlock of={blockKey(span_id, side, shown.block.at)}>
    <View {...shown} />
  </TextBlock>
);

function View({ id, block, whole, as }: Omit<BlockViewProps, 'of'>) {
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
