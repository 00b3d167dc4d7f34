/** The calls of a session in order of time, by the numbers of their raw turns. */
import { useEffect, useMemo } from 'preact/hooks';
import { readOutline } from '../../../api/outline.ts';
import { sessionOutline } from '../../../store/outline.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { known } from '../talk/step-facts.ts';

export type SessionCalls = {
  calls: readonly number[];
  /** By raw turn: the step that it is in the session. */
  spanOf: ReadonlyMap<number, string>;
};

/** Empty until the outline has come. */
export function useCalls(session: string): SessionCalls {
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
    const spanOf = new Map<number, string>();
    for (const span of columns ? outlineIndex(columns).calls : []) {
      const number = known(columns?.spans.raw_turn_id[span]);
      if (number !== null && !spanOf.has(number)) spanOf.set(number, columns?.spans.span_id[span] ?? '');
    }
    return { calls: [...spanOf.keys()], spanOf };
  }, [columns]);
}

const pageOf = ({ after, cursor }: { after: string | null; cursor: string | null }) => ({
  ...(after === null ? {} : { after }),
  ...(cursor === null ? {} : { cursor }),
});
