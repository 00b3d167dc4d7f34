/** The strip of the session on screen: what is chosen on it is the span of the address, which every lens shows. */
import { useEffect, useMemo } from 'preact/hooks';
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { useAddress } from '../../../address.ts';
import { hrefOf } from '../../../base.ts';
import { spanIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { mayHaveBroken } from '../cache/may-have-broken.ts';
import { lensAddress } from '../lens-address.ts';
import { useSession } from '../session-store.ts';
import { Strip } from './strip.tsx';

const NONE: readonly CacheBreak[] = [];

export function SessionStrip() {
  const { id: session, outline, breaks } = useSession();
  const columns = outline.columns.value;
  const { query, setQuery } = useAddress();
  const id = query.get('span') ?? '';
  const selected = useMemo(() => (columns === null || id === '' ? -1 : spanIndex(columns, '', id)), [columns, id]);
  const isComing = useMemo(() => columns !== null && mayHaveBroken(columns, outlineIndex(columns)), [columns]);
  const calls = columns === null || !isComing || !outline.complete.value ? 0 : outlineIndex(columns).calls.length;
  useEffect(() => {
    if (calls > 0) breaks.want(calls);
  }, [calls]);
  if (columns === null) return <div class="strip-area strip-coming" aria-hidden="true" />;
  const select = (span: number) => setQuery({ span: columns.spans.span_id[span] ?? null }, { replace: true });
  return (
    <Strip
      {...{ columns, selected, isComing }}
      index={outlineIndex(columns)}
      breaks={breaks.cache.value?.breaks ?? NONE}
      cacheHref={(span) => hrefOf(lensAddress(session, 'cache', query, columns.spans.span_id[span]))}
      onSelect={select}
    />
  );
}
