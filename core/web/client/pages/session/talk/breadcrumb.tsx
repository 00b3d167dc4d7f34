/** The way back from the thread of a sub-agent to those that sent it out. */
import { useAddress } from '../../../address.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { stepFacts } from './step-facts.ts';
import './breadcrumb.css';

type Crumb = { thread: string; name: string; card: number };

export function Breadcrumb({ columns, thread }: { columns: OutlineColumns; thread: string }) {
  const { setQuery } = useAddress();
  const crumbs = crumbsOf(columns, thread);
  const { span_id } = columns.spans;
  return (
    <nav class="breadcrumb" aria-label="Threads">
      <ol>
        {crumbs.map(({ thread: name, name: shown }, n) => {
          const next = crumbs[n + 1];
          return (
            <li key={name}>
              {next ? (
                <button
                  type="button"
                  class="fold"
                  onClick={() => setQuery({ thread: name, span: span_id[next.card] ?? null })}
                >
                  <Recorded text={shown} />
                </button>
              ) : (
                <span aria-current="page">
                  <Recorded text={shown} />
                </span>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

/** From the main thread to this one. `card`: the span of the agent. */
function crumbsOf(columns: OutlineColumns, thread: string): Crumb[] {
  const { names, spans } = columns;
  const { threads } = outlineIndex(columns);
  const crumbs: Crumb[] = [];
  const seen = new Set<string>();
  for (let name = thread; name !== '' && !seen.has(name); ) {
    seen.add(name);
    const card = threads.find((one) => names[one.name] === name)?.spans[0] ?? -1;
    crumbs.unshift({ thread: name, name: card < 0 ? name : stepFacts(columns, card).name, card });
    name = card < 0 ? '' : (names[spans.thread[spans.parent[card] ?? -1] ?? -1] ?? '');
  }
  return [{ thread: '', name: 'main', card: -1 }, ...crumbs];
}
