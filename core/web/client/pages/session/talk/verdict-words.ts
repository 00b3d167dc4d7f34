/** Who judged a tool call, in words. */
import { durationText } from '../../../parts/number-text.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { stepFacts } from './step-facts.ts';

/** '' and null: nobody did. */
export function verdictWords(columns: OutlineColumns, tool: number): string | null {
  const { names, links, spans } = columns;
  if ((names[spans.verdict[tool] ?? -1] ?? '') === '') return null;
  const judges = [...outlineIndex(columns).linksTo.of(tool)]
    .filter((row) => names[links.kind[row] ?? -1] === 'verdict')
    .map((row) => links.from[row] ?? -1)
    .filter((judge) => judge >= 0);
  const judge = judges.at(-1);
  if (judge === undefined) return 'permission check';
  const { model, duration_us } = stepFacts(columns, judge);
  return `permission check (${[model, duration_us === null ? '' : durationText(duration_us)].filter(Boolean).join(', ')})`;
}
