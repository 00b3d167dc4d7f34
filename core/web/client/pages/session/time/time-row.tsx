/** A row of the Time lens: what it is, on the left, and when it was, on the right. */
import type { ComponentChildren } from 'preact';
import { Visible } from '../../../parts/recorded.tsx';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { ActivityBar, SpanBar } from './time-bar.tsx';
import type { TimeRow } from './time-rows.ts';
import type { TimeScale } from './time-scale.ts';

type TimeRowProps = {
  columns: OutlineColumns;
  index: OutlineIndex;
  row: TimeRow;
  number: number; // of its prompt, 1 first
  scale: TimeScale;
  active: boolean;
  selected: boolean;
  critical: boolean;
  onFold: () => void;
  onSelect: () => void;
};

const SHOWN_LEVELS = 8; // deeper ones are not indented further, so that words stay in view

/** The attributes of the row's own element. */
export function timeRowAttributes({ columns, row, active, selected, critical, onFold, onSelect }: TimeRowProps) {
  const { spans, traces, names } = columns;
  const { span, type } = row;
  const name = (column: Int32Array) => names[column[span] ?? 0] ?? '';
  const states = [
    active && 'active',
    selected && 'selected',
    critical && 'critical',
    isBeside(columns, span) && 'beside',
  ];
  return {
    class: ['time-row', `type-${type}`, ...states].filter(Boolean).join(' '),
    'aria-level': row.level,
    'aria-posinset': row.place,
    'aria-setsize': row.siblings,
    'aria-expanded': row.folded === null ? undefined : !row.folded,
    'aria-selected': selected,
    'data-row': type,
    'data-span': type === 'run' ? undefined : spans.span_id[span],
    'data-trace': traces.trace_id[row.trace],
    'data-kind': type === 'run' ? 'tool' : name(spans.kind),
    'data-thread': name(spans.thread),
    'data-status': statusOf(columns, row),
    onClick: onSelect,
    onDblClick: onFold,
  };
}

const statusOf = ({ names, spans, traces }: OutlineColumns, { type, trace, span }: TimeRow): string =>
  names[(type === 'trace' ? traces.status[trace] : spans.status[span]) ?? 0] ?? '';

export function TimeRowView(props: TimeRowProps) {
  const { columns, row, onFold } = props;
  const { spans, names } = columns;
  const isBlocked = (names[spans.verdict[row.span] ?? 0] ?? '').toUpperCase() === 'BLOCK';
  const isTool = names[spans.kind[row.span] ?? 0] === 'tool';
  return (
    <>
      <span class="time-name" style={{ paddingInlineStart: `${(Math.min(row.level, SHOWN_LEVELS) - 1) * 14}px` }}>
        {row.folded === null ? (
          <span class="time-fold" />
        ) : (
          <span class={row.folded ? 'time-fold closed' : 'time-fold'} aria-hidden="true" onClick={stopped(onFold)} />
        )}
        <RowName {...props} />
        <RowSign status={statusOf(columns, row)} blocked={isTool && isBlocked} />
      </span>
      <span class="time-track">
        <RowBar {...props} />
      </span>
    </>
  );
}

function RowName({ columns, row, number }: TimeRowProps) {
  const { spans, traces, names } = columns;
  const { span } = row;
  const label = spans.label[span] ?? '';
  const name = names[spans.name[span] ?? 0] ?? '';
  if (row.type === 'trace')
    return (
      <Words
        strong={`${number}`}
        rest={traces.user_prompt[row.trace] || names[traces.synthetic[row.trace] ?? 0] || 'no prompt'}
      />
    );
  if (row.type === 'run') return <Words strong={name} rest={`×${row.members.length}`} />;
  if (isBeside(columns, span))
    return <Words strong={besideWord(names[spans.call_kind[span] ?? 0] ?? '')} rest="beside" />;
  return <Words strong={name} rest={label} />;
}

const Words = ({ strong, rest }: { strong: string; rest: string }) => (
  <bdi class="time-words" title={`${strong} ${rest}`.slice(0, 300)}>
    <b>
      <Visible text={strong} />
    </b>{' '}
    <Visible text={rest} />
  </bdi>
);

/** A sign with its word, for what did not end well. */
function RowSign({ status, blocked }: { status: string; blocked: boolean }): ComponentChildren {
  if (blocked) return <span class="time-sign tone-error">× blocked</span>;
  if (status === 'error') return <span class="time-sign tone-error">! error</span>;
  return status === 'partial' ? <span class="time-sign tone-warn">✂ cut</span> : null;
}

function RowBar({ columns, index, row, scale }: TimeRowProps) {
  const { spans, names } = columns;
  const kind = names[spans.kind[row.span] ?? 0];
  if (row.type === 'run') return <ActivityBar columns={columns} scale={scale} groups={[['time-tool', row.members]]} />;
  if (row.type === 'trace' || row.type === 'lane') {
    const below = row.type === 'trace' ? index.spansOf.of(row.trace) : index.childrenOf.of(row.span);
    const of = (wanted: string) => below.filter((span) => names[spans.kind[span] ?? 0] === wanted);
    return (
      <>
        <SpanBar columns={columns} span={row.span} scale={scale} look="time-agent" />
        <ActivityBar
          columns={columns}
          scale={scale}
          groups={[
            ['time-tool', of('tool')],
            ['time-model', of('llm')],
          ]}
        />
      </>
    );
  }
  return (
    <SpanBar columns={columns} span={row.span} scale={scale} look={kind === 'tool' ? 'time-tool' : 'time-model'} />
  );
}

const isBeside = ({ spans, names }: OutlineColumns, span: number): boolean =>
  (names[spans.call_kind[span] ?? 0] ?? '').startsWith('offshoot:');

const besideWord = (call_kind: string): string =>
  call_kind
    .replace(/^offshoot:/, '')
    .replace(/:stage/, ' ')
    .replaceAll('-', ' ');

const stopped = (run: () => void) => (event: Event) => {
  event.stopPropagation();
  run();
};
