/** What came into the conversation with a call: a person's words and images, or what a sub-agent was sent out with. */
import { BlockView } from './block-view.tsx';
import { shownBlocks } from './blocks.ts';
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
  return (
    <section class="talk-message" aria-label="Prompt">
      <p class="talk-who who-you">{facts.thread === '' ? 'you' : 'task'}</p>
      <div class="talk-words">
        {text === undefined && <p class="waiting-words">{prompt}</p>}
        {blocks.map((block, n) => (
          <BlockView key={n} id={`${facts.span_id} in ${n}`} block={block} whole={text?.whole ?? false} as="prose" />
        ))}
      </div>
    </section>
  );
}
