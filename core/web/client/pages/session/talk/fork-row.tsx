/** The place where somebody went back in the conversation and went on from there a second time. */
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
