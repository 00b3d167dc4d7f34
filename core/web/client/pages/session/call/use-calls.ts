/** The calls of a session in order of time, by the numbers of their raw turns. */
import { useEffect, useMemo } from 'preact/hooks';
import { readOutline } from '../../../api/outline.ts';
import { sessionOutline } from '../../../store/outline.ts';
import { outlineIndex } from '../../../store/outline-index.ts';

/** Empty until the outline has come. */
export function useCalls(session: string): readonly number[] {
  const outline = useMemo(
    () => sessionOutline((page, signal) => readOutline(session, { ...pageOf(page), signal })),
    [session],
  );
  useEffect(() => {
    if (session !== '') outline.refresh();
    return outline.close;
  }, [outline]);
  const columns = outline.columns.value;
  return useMemo(() => {
    if (!columns) return [];
    const numbers = [...outlineIndex(columns).calls].map((span) => columns.spans.raw_turn_id[span] ?? Number.NaN);
    return [...new Set(numbers.filter((number) => !Number.isNaN(number)))];
  }, [columns]);
}

const pageOf = ({ after, cursor }: { after: string | null; cursor: string | null }) => ({
  ...(after === null ? {} : { after }),
  ...(cursor === null ? {} : { cursor }),
});
