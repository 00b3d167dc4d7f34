/** A tool call joined to its result: one line; opened, its input and what it returned. */
import { Duration } from '../../../parts/figure.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { DetailsButton } from './details-button.tsx';
import { type StepFacts, stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { ToolBody } from './tool-body.tsx';
import { verdictWords } from './verdict-words.ts';

export function ToolRow({ span }: { span: number }) {
  const { columns, folds } = useTalk();
  const facts = stepFacts(columns, span);
  const open = folds.isOpen('tool', facts.span_id);
  const verdict = verdictWords(columns, span);
  return (
    <div class="talk-tool">
      <button
        type="button"
        class="fold tool-line"
        aria-expanded={open}
        onClick={() => folds.toggle('tool', facts.span_id)}
      >
        <span class="tool-name">
          <Icon name="tool" /> <Recorded text={facts.name} />
        </span>
        <span class="tool-label">
          <Recorded text={facts.label} />
        </span>
        <span class="tool-end">
          {verdict && (
            <span data-verdict={facts.verdict}>
              {facts.verdict === 'BLOCK' ? <StatusMark status="blocked" word="blocked" /> : 'allowed'} by {verdict}
            </span>
          )}
          <Outcome facts={facts} span={span} />
          <span aria-hidden="true">{open ? '▾' : '▸'}</span>
        </span>
      </button>
      {open && (
        <>
          <DetailsButton span={span} />
          <ToolBody facts={facts} />
        </>
      )}
    </div>
  );
}

function Outcome({ facts, span }: { facts: StepFacts; span: number }) {
  const { spans } = useTalk().columns;
  const lines = spans.output_lines[span] ?? 0;
  const images = spans.images[span] ?? 0;
  if (facts.duration_us === null)
    return facts.verdict === 'BLOCK' ? null : <StatusMark status="unknown" word="no result seen" />;
  return (
    <>
      <StatusMark
        status={facts.status}
        word={facts.status === 'ok' ? 'ok' : facts.status === 'error' ? 'failed' : facts.status}
      />
      <Duration us={facts.duration_us} />
      {lines > 0 && (
        <span class="tool-size">
          {grouped(lines)} {lines === 1 ? 'line' : 'lines'}
        </span>
      )}
      {images > 0 && (
        <span class="tool-size">
          {images} {images === 1 ? 'image' : 'images'}
        </span>
      )}
    </>
  );
}
