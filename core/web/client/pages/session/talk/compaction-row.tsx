/** A compaction: a band across the conversation, where what was said went out of the model's sight and a summary took its place. */
import { Cost, Tokens } from '../../../parts/figure.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { outlineIndex } from '../../../store/outline-index.ts';
import { BlockView } from './block-view.tsx';
import { answerBlocks, shownBlocks } from './blocks.ts';
import { answerIsCut, inputIsCut } from './needs-whole.ts';
import { type StepFacts, stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { ErrorText } from './text-block.tsx';
import { useText } from './use-text.ts';

export function CompactionRow({ span }: { span: number }) {
  const { columns, folds, goTo } = useTalk();
  const facts = stepFacts(columns, span);
  const open = folds.isOpen('compaction', facts.span_id);
  const after = seamAfter();
  const { input_tokens } = columns.spans;
  return (
    <div class="talk-compaction">
      <p class="band">
        <strong>≈ compaction</strong>
        <span>
          <Tokens count={input_tokens[span] ?? 0} name="input_tokens" />
          {after >= 0 && (
            <>
              {' → '}
              <Tokens count={input_tokens[after] ?? 0} name="input_tokens_after" />
            </>
          )}{' '}
          tokens
        </span>
        <Cost usd={facts.cost_usd} />
        {facts.status !== 'ok' && <StatusMark status={facts.status} word={facts.error_type || facts.status} />}
        <span class="muted">what was said before is out of sight</span>
        <button
          type="button"
          class="fold"
          aria-expanded={open}
          onClick={() => folds.toggle('compaction', facts.span_id)}
        >
          summary {open ? '▾' : '▸'}
        </button>
        {after >= 0 && (
          <button type="button" class="fold" onClick={() => goTo(after)}>
            where it goes on
          </button>
        )}
      </p>
      {open && <Summary facts={facts} />}
    </div>
  );

  function seamAfter(): number {
    const { names, links } = columns;
    const row = [...outlineIndex(columns).linksFrom.of(span)].find(
      (one) => names[links.kind[one] ?? -1] === 'compaction-seam',
    );
    return row === undefined ? -1 : (links.to[row] ?? -1);
  }
}

function Summary({ facts }: { facts: StepFacts }) {
  const { folds } = useTalk();
  const text = useText(facts, (loaded) => inputIsCut(loaded) || answerIsCut(loaded, folds));
  if (!text) return <p class="muted">On its way …</p>;
  const { span, whole } = text;
  return (
    <div class="summary">
      {span.error_message !== undefined && <ErrorText span_id={facts.span_id} text={span.error_message} />}
      {answerBlocks(span.output).map((block, n) => (
        <BlockView
          key={n}
          id={`${facts.span_id} out ${n}`}
          of={{ span_id: facts.span_id, side: 'output' }}
          block={block}
          whole={whole}
          as="prose"
        />
      ))}
      {span.input.length > 0 && <p class="muted">The instructions for it:</p>}
      {span.input.flatMap(shownBlocks).map((block, n) => (
        <BlockView
          key={n}
          id={`${facts.span_id} in ${n}`}
          of={{ span_id: facts.span_id, side: 'input' }}
          block={block}
          whole={whole}
          as="prose"
        />
      ))}
    </div>
  );
}
