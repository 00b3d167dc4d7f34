/** The strip of the session on screen: what is chosen on it is the span of the address, which every lens shows. */
import { useMemo } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { spanIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { useSession } from '../session-store.ts';
import { Strip } from './strip.tsx';

export function SessionStrip() {
  const columns = useSession().outline.columns.value;
  const { query, setQuery } = useAddress();
  const id = query.get('span') ?? '';
  const selected = useMemo(() => (columns === null || id === '' ? -1 : spanIndex(columns, '', id)), [columns, id]);
  if (columns === null) return <div class="strip-area strip-coming" aria-hidden="true" />;
  const select = (span: number) => setQuery({ span: columns.spans.span_id[span] ?? null }, { replace: true });
  return <Strip columns={columns} index={outlineIndex(columns)} selected={selected} onSelect={select} />;
}
