/** The tries before the call that succeeded: one line, opened a line each. */
import { Duration } from '../../../parts/figure.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { useSession } from '../session-store.ts';
import { cutWords } from './call-words.ts';
import { type StepFacts, stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import { ErrorText } from './text-block.tsx';

export function Tries({ span }: { span: number }) {
  const { columns, rows, folds } = useTalk();
  const tries = rows.tries.get(span);
  if (!tries) return null;
  const { span_id, status } = stepFacts(columns, span);
  const open = folds.isOpen('tries', span_id);
  const { started_us } = columns.spans;
  const lost = (started_us[span] ?? 0) - (started_us[tries[0] ?? span] ?? 0);
  const reasons = tries.map((one) => tryWords(stepFacts(columns, one)));
  return (
    <div class="tries" data-tries={tries.length + 1}>
      <button type="button" class="fold" aria-expanded={open} onClick={() => folds.toggle('tries', span_id)}>
        ↻ try {tries.length + 1}:{' '}
        {reasons.slice(0, 6).map((reason, n) => (
          <span key={n}>
            <Recorded text={reason} />,{' '}
          </span>
        ))}
        {reasons.length > 6 && `${reasons.length - 6} more, `}
        {status === 'error' ? 'failed again' : 'answered'} (<Duration us={lost} name="retried_us" /> later){' '}
        {open ? '▾' : '▸'}
      </button>
      {open && (
        <ol>
          {tries.map((one) => (
            <Try key={one} span={one} />
          ))}
        </ol>
      )}
    </div>
  );
}

const tryWords = (facts: StepFacts): string => facts.error_type || (cutWords(facts) === null ? 'failed' : 'cut off');

function Try({ span }: { span: number }) {
  const facts = stepFacts(useTalk().columns, span);
  const text = useSession().texts.text(facts).value;
  return (
    <li data-span={facts.span_id} data-status={facts.status}>
      <StatusMark status={facts.status} word={tryWords(facts)} /> <Duration us={facts.duration_us} />{' '}
      <ErrorText span_id={facts.span_id} text={text?.span.error_message ?? facts.label} />
    </li>
  );
}
