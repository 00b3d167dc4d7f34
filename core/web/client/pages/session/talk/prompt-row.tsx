/** What came into the conversation with a call: a person's words and images, or what a sub-agent was sent out with. */
import { useEffect } from 'preact/hooks';
import { Recorded } from '../../../parts/recorded.tsx';
import { blockKey } from './block-key.ts';
import { BlockView } from './block-view.tsx';
import { type ShownBlock, shownBlocks } from './blocks.ts';
import { inputIsCut } from './needs-whole.ts';
import { stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { useText } from './use-text.ts';

export function PromptRow({ span }: { span: number }) {
  const { columns } = useTalk();
  const facts = stepFacts(columns, span);
  const text = useText(facts, inputIsCut);
  const prompt = columns.traces.user_prompt[columns.spans.trace[span] ?? -1] ?? '';
  const blocks = text?.span.input.flatMap(shownBlocks) ?? [];
  const isOwn = ownWords(blocks, prompt);
  return (
    <div class="talk-message">
      <p class="talk-who who-you">
        {who(facts.thread, columns.names[columns.traces.synthetic[columns.spans.trace[span] ?? -1] ?? -1])}
      </p>
      <div class="talk-words">
        {text === undefined && <p class="waiting-words">{prompt}</p>}
        {blocks.map((block, n) => (
          <PromptBlock
            key={n}
            id={`${facts.span_id} in ${n}`}
            span_id={facts.span_id}
            block={block}
            whole={text?.whole ?? false}
            isOwn={isOwn(block)}
          />
        ))}
      </div>
    </div>
  );
}

const who = (thread: string, synthetic: string | undefined): string =>
  thread !== '' ? 'task' : synthetic === 'post-compaction' ? 'summary' : 'you';

type PromptBlockProps = { id: string; span_id: string; block: ShownBlock; whole: boolean; isOwn: boolean };

/** What a harness put into the same message is folded: it is part of the truth, not of the conversation. */
function PromptBlock({ id, span_id, block, whole, isOwn }: PromptBlockProps) {
  const { folds } = useTalk();
  const { value: reveal } = folds.reveal;
  const of = { span_id, side: 'input' } as const;
  const open = folds.isOpen('context', id);
  const isFolded = !isOwn && block.kind === 'text';
  useEffect(() => {
    if (isFolded && !open && reveal?.key === blockKey(span_id, 'input', block.at)) folds.toggle('context', id);
  }, [reveal, isFolded]);
  if (!isFolded) return <BlockView {...{ id, of, block, whole }} as="prose" />;
  return (
    <div class="put-in" data-part="context">
      <button type="button" class="fold" aria-expanded={open} onClick={() => folds.toggle('context', id)}>
        <span class="who-context">⤷ put in with it</span> <Recorded text={`${block.text.trim().slice(0, 60)} …`} />{' '}
        <span aria-hidden="true">{open ? '▾' : '▸'}</span>
      </button>
      {open && <BlockView {...{ id, of, block, whole }} as="result" />}
    </div>
  );
}

const LOOKED_FOR = 40;

/** Which blocks are a person's own: those that hold how the prompt begins; all of them where none does. */
function ownWords(blocks: readonly ShownBlock[], prompt: string): (block: ShownBlock) => boolean {
  const begin = prompt.slice(0, LOOKED_FOR).trim();
  const holds = (block: ShownBlock) => block.kind === 'text' && block.text.includes(begin);
  return begin !== '' && blocks.some(holds) ? holds : () => true;
}
