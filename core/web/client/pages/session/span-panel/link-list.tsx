/** The links of a span as sentences, each of which leads to its other end. */
import { hrefOf } from '../../../base.ts';
import { Recorded } from '../../../parts/recorded.tsx';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { SpanLink } from './span-links.ts';

type LinkListProps = { columns: OutlineColumns; links: readonly SpanLink[]; onSelect: (span: number) => void };

const SHOWN = 30;

export function LinkList({ columns, links, onSelect }: LinkListProps) {
  const { spans, names } = columns;
  if (links.length === 0) return null;
  return (
    <ul class="span-links" aria-label="Links">
      {links.slice(0, SHOWN).map(({ words, span, other }) => (
        <li key={`${words} ${other?.span_id ?? span}`} data-link={words}>
          <span class="muted">{words}</span>{' '}
          {other ? (
            <a href={hrefOf(`/sessions/${other.session_id}?span=${other.span_id}`)}>a step elsewhere</a>
          ) : (
            <button type="button" class="plain link" data-to={spans.span_id[span]} onClick={() => onSelect(span)}>
              <Recorded text={names[spans.name[span] ?? 0] ?? ''} /> <Recorded text={spans.label[span] ?? ''} />
            </button>
          )}
        </li>
      ))}
      {links.length > SHOWN && <li class="muted">{links.length - SHOWN} more</li>}
    </ul>
  );
}
