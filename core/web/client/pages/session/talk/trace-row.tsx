/** The head of a prompt: its number, if it is known, when it was, how long it took and what it cost. */
import { hrefOf } from '../../../base.ts';
import { Cost, Count, Duration } from '../../../parts/figure.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { momentText } from '../../../parts/number-text.ts';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { known } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import './trace-row.css';

export function TraceRow({ trace, number }: { trace: number; number: number }) {
  const { columns } = useTalk();
  const { traces, names } = columns;
  const at = (columns.base_us + (traces.started_us[trace] ?? 0)) / 1_000;
  const moment = momentText(at);
  const status = names[traces.status[trace] ?? -1] ?? '';
  const errors = traces.error_count[trace] ?? 0;
  return (
    <h2 class="talk-trace">
      <span class="trace-number">{number > 0 ? number : '…'}</span>
      {names[traces.synthetic[trace] ?? -1] === 'post-compaction' && <span>goes on from the summary</span>}
      <span class="rule" aria-hidden="true" />
      <span class="trace-facts">
        <time dateTime={new Date(at).toISOString()} title={moment}>
          {moment.slice(-8)}
        </time>
        <Duration us={known(traces.duration_us[trace])} />
        <Cost usd={known(traces.cost_usd[trace])} />
        {errors > 0 && <StatusMark status="error" word={`${errors} ${errors === 1 ? 'error' : 'errors'}`} />}
        {status === 'partial' && <StatusMark status="partial" word="cut off" />}
        <span>
          <Count count={traces.span_count[trace] ?? 0} name="span_count" />{' '}
          {traces.span_count[trace] === 1 ? 'step' : 'steps'}
        </span>
        <a
          class="trace-link"
          href={hrefOf(traceAddress())}
          title="Link to this prompt"
          aria-label={number > 0 ? `Link to prompt ${number}` : 'Link to this prompt'}
        >
          <Icon name="link" />
        </a>
      </span>
    </h2>
  );

  function traceAddress(): string {
    const { spans } = columns;
    const first = spans.trace.indexOf(trace);
    return `/spans/${traces.trace_id[trace]}/${spans.span_id[first]}`;
  }
}
