/** Jumps between rows of Talk: to the next error, compaction, sub-agent, call or prompt. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { agentSums } from './agent-sums.ts';
import type { TalkRows } from './talk-rows.ts';

export type JumpTarget = 'error' | 'compaction' | 'agent' | 'call' | 'prompt' | 'any';

/** The next row of a kind after a row, or before it; -1: there is none. */
export function jumpFrom(
  columns: OutlineColumns,
  rows: TalkRows,
  from: number,
  step: 1 | -1,
  target: JumpTarget,
): number {
  for (let row = from + step; row >= 0 && row < rows.count; row += step)
    if (isTarget(columns, rows, row, target)) return row;
  return -1;
}

function isTarget(columns: OutlineColumns, rows: TalkRows, row: number, target: JumpTarget): boolean {
  const { spans, names } = columns;
  const kind = rows.kind[row];
  switch (target) {
    case 'any':
      return true;
    case 'error':
      if (kind === 'agent' && agentSums(columns, rows.of[row] ?? -1).errors > 0) return true;
      return (
        (kind === 'step' || kind === 'tool' || kind === 'agent') &&
        names[spans.status[rows.of[row] ?? -1] ?? -1] === 'error'
      );
    case 'call':
      return kind === 'step';
    case 'prompt':
      return kind === 'trace';
    default:
      return kind === target;
  }
}
