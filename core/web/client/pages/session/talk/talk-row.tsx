/** One row of Talk, by its kind. */
import { AgentRow } from './agent-row.tsx';
import { BesideRow } from './beside-row.tsx';
import { CompactionRow } from './compaction-row.tsx';
import { ContextRow } from './context-row.tsx';
import { ForkRow } from './fork-row.tsx';
import { PromptRow } from './prompt-row.tsx';
import { stepFacts } from './step-facts.ts';
import { StepRow } from './step-row.tsx';
import { type Talk, useTalk } from './talk-context.ts';
import { ToolRow } from './tool-row.tsx';
import { TraceRow } from './trace-row.tsx';

export function TalkRow({ row }: { row: number }) {
  const { rows } = useTalk();
  const of = rows.of[row] ?? -1;
  const many = rows.many[row] ?? 1;
  switch (rows.kind[row]) {
    case 'trace':
      return <TraceRow trace={of} number={many} />;
    case 'fork':
      return <ForkRow span={of} />;
    case 'prompt':
      return <PromptRow span={of} />;
    case 'context':
      return <ContextRow first={of} many={many} />;
    case 'step':
      return <StepRow span={of} />;
    case 'compaction':
      return <CompactionRow span={of} />;
    case 'tool':
      return <ToolRow span={of} />;
    case 'agent':
      return <AgentRow agent={of} isUnfoldable={rows.depth[row] === 0} />;
    case 'beside':
      return <BesideRow trace={of} many={many} />;
    default:
      return null;
  }
}

/** What a row is known by while others come and go. */
export function rowKey({ columns, rows }: Pick<Talk, 'columns' | 'rows'>, row: number): string {
  const of = rows.of[row] ?? -1;
  const kind = rows.kind[row] ?? 'trace';
  if (kind === 'trace' || kind === 'beside') return `${kind} ${columns.traces.trace_id[of]}`;
  const { spans } = columns;
  return `${kind} ${spans.span_id[of]}${kind === 'agent' ? ` ${spans.trace[of]}` : ''}`;
}

/** Attributes of the row's element, for styles and for readers from outside. */
export function rowAttributes({ columns, rows }: Pick<Talk, 'columns' | 'rows'>, row: number) {
  const of = rows.of[row] ?? -1;
  const kind = rows.kind[row] ?? 'trace';
  const depth = { 'data-depth': rows.depth[row] ?? 0 };
  if (kind === 'trace' || kind === 'beside')
    return { ...depth, 'data-row': kind, 'data-trace': columns.traces.trace_id[of] ?? '', 'data-kind': kind };
  const { trace_id, span_id, status, call_kind } = stepFacts(columns, of);
  const attributes = {
    ...depth,
    'data-row': kind,
    'data-trace': trace_id,
    'data-kind': kindOf(kind),
    'data-status': status,
  };
  if (kind === 'prompt' || kind === 'fork' || kind === 'context') return { ...attributes, 'data-of': span_id };
  return { ...attributes, 'data-span': span_id, ...(call_kind === '' ? {} : { 'data-call-kind': call_kind }) };
}

const kindOf = (row: string): string => (row === 'step' ? 'llm' : row);
