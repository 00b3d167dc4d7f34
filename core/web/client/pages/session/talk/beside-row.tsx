/** The calls that a harness made beside the conversation, in one line. */
import { Cost } from '../../../parts/figure.tsx';
import { outlineIndex } from '../../../store/outline-index.ts';
import { besideWords } from './call-words.ts';
import { mayHaveCost, stepFacts, tokensOf } from './step-facts.ts';
import { useTalk } from './talk-context.ts';

export function BesideRow({ trace, many }: { trace: number; many: number }) {
  const { columns, folds } = useTalk();
  const counts = new Map<string, number>();
  let cost: number | null = null;
  let isAtLeast = false;
  for (const span of outlineIndex(columns).spansOf.of(trace)) {
    const { kind, call_kind, cost_usd, status } = stepFacts(columns, span);
    const words = kind === 'llm' && call_kind !== 'offshoot:compaction' ? besideWords(call_kind) : null;
    if (words === null) continue;
    counts.set(words, (counts.get(words) ?? 0) + 1);
    if (cost_usd !== null) cost = (cost ?? 0) + cost_usd;
    else isAtLeast ||= mayHaveCost(status === 'error', tokensOf(columns, span));
  }
  return (
    <p class="talk-beside">
      <button
        type="button"
        class="fold"
        aria-keyshortcuts="b"
        onClick={() => {
          folds.beside.value = true;
        }}
      >
        {many} {many === 1 ? 'call' : 'calls'} beside (
        {[...counts].map(([words, times]) => (times > 1 ? `${words} ×${times}` : words)).join(', ')}),{' '}
        <Cost usd={cost} atLeast={isAtLeast} /> ▸
      </button>
    </p>
  );
}
