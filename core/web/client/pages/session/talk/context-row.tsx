/** Context that a harness put into the conversation: one folded line with its kinds. */
import { Count } from '../../../parts/figure.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { BlockView } from './block-view.tsx';
import { shownBlocks } from './blocks.ts';
import { inputIsCut } from './needs-whole.ts';
import { stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { useText } from './use-text.ts';
import { contextSpans } from './wanted-texts.ts';

/** @param first of the events @param many how many follow each other */
export function ContextRow({ first, many }: { first: number; many: number }) {
  const { columns, folds } = useTalk();
  const facts = stepFacts(columns, first);
  const open = folds.isOpen('context', facts.span_id);
  const events = contextSpans(columns, first, many);
  const characters = events.reduce((sum, event) => sum + (columns.spans.input_characters[event] ?? 0), 0);
  const kinds = new Map<string, number>();
  for (const event of events) {
    const { name } = stepFacts(columns, event);
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  return (
    <div class="talk-context">
      <button type="button" class="fold" aria-expanded={open} onClick={() => folds.toggle('context', facts.span_id)}>
        <span class="who-context">⤷ context</span>{' '}
        {[...kinds].map(([name, times], n) => (
          <span key={name}>
            {n > 0 && ', '}
            <Recorded text={name} />
            {times > 1 && ` ×${times}`}
          </span>
        ))}{' '}
        <span class="muted">
          injected by the harness
          {characters > 0 && (
            <>
              , <Count count={characters} name="characters" /> characters
            </>
          )}{' '}
          {open ? '▾' : '▸'}
        </span>
      </button>
      {open && events.map((event) => <EventText key={event} span={event} />)}
    </div>
  );
}

function EventText({ span }: { span: number }) {
  const { columns } = useTalk();
  const facts = stepFacts(columns, span);
  const text = useText(facts, inputIsCut);
  if (!text) return <p class="muted">On its way …</p>;
  return (
    <div class="context-text" data-span={facts.span_id} data-kind="event">
      {text.span.input.flatMap(shownBlocks).map((block, n) => (
        <BlockView
          key={n}
          id={`${facts.span_id} in ${n}`}
          of={{ span_id: facts.span_id, side: 'input' }}
          block={block}
          whole={text.whole}
          as="result"
        />
      ))}
    </div>
  );
}
