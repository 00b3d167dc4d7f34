/** The place where somebody went back in the conversation and went on from there a second time. */
import { hrefOf } from '../../../base.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { useTalk } from './talk-context.ts';

export function ForkRow({ span }: { span: number }) {
  const { columns, goTo } = useTalk();
  const { links, names } = columns;
  const index = outlineIndex(columns);
  const row = [...index.linksFrom.of(span)].find((one) => names[links.kind[one] ?? -1] === 'fork-of');
  const from = row === undefined ? -1 : (links.to[row] ?? -1);
  const branches = [...index.linksTo.of(from)].filter((one) => names[links.kind[one] ?? -1] === 'fork-of').length;
  return (
    <p class="talk-fork" data-fork>
      ⑂ somebody went back{from >= 0 ? ' to ' : ''}
      {from >= 0 && (
        <button type="button" class="fold" onClick={() => goTo(from)}>
          call {(index.callOf[from] ?? 0) + 1}
        </button>
      )}{' '}
      and went on from there: {branches + 1} conversations share what is before it
    </p>
  );
}

const MOST_NAMED = 8;

/** At the call that other conversations go on from: how many do, and where each of them is. */
export function WaysOn({ span }: { span: number }) {
  const { columns, goTo } = useTalk();
  const { links, names, others } = columns;
  const index = outlineIndex(columns);
  const ways = [...index.linksTo.of(span)].flatMap((row) =>
    names[links.kind[row] ?? -1] === 'fork-of' ? (links.from[row] ?? []) : [],
  );
  if (ways.length === 0) return null;
  return (
    <p class="talk-fork" data-forks={ways.length}>
      ⑂ {ways.length === 1 ? '1 other conversation goes' : `${ways.length} other conversations go`} on from here:{' '}
      {ways.slice(0, MOST_NAMED).map((way) => {
        const other = others[-2 - way];
        return other ? (
          <a key={way} href={hrefOf(`/spans/${other.trace_id}/${other.span_id}`)}>
            in another session
          </a>
        ) : (
          <button key={way} type="button" class="fold" onClick={() => goTo(way)}>
            call {(index.callOf[way] ?? 0) + 1}
          </button>
        );
      })}
    </p>
  );
}
