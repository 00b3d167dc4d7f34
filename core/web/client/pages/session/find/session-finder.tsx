/** Find in the session: `/` and Ctrl-F open it in every lens, the address holds what is looked for, Talk shows it. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionMatch } from '../../../../../model/find.ts';
import { useAddress } from '../../../address.ts';
import { lensPath } from '../../../address-text.ts';
import { useKeys } from '../../../keys.ts';
import { useSession } from '../session-store.ts';
import { FindBar } from './find-bar.tsx';
import { foundKey } from './found.ts';
import { inOrder, spanRanks } from './found-order.ts';
import { FoundPrompt } from './found-prompt.tsx';

const PAUSE_MS = 150; // of typing

export function SessionFinder({ lens }: { lens: string }) {
  const { id, find, outline } = useSession();
  const { query, setQuery, go } = useAddress();
  const text = query.get('q') ?? '';
  const places = query.get('in') ?? '';
  const isOpen = find.isOpen.value || text !== '';
  const [typed, setTyped] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(null); // what had the focus
  const wantsFocus = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const awaited = useRef<1 | -1 | 0>(0); // a step that was made before there was anything to step to
  const columns = outline.columns.value;
  const state = find.state.value;
  const isSought = state !== null;
  const rankOf = useMemo(() => (isSought ? columns && spanRanks(columns) : null), [columns, isSought]);
  const found = useMemo(() => (state && rankOf ? inOrder(state.found, rankOf) : []), [state, rankOf]);
  const current = find.at.value?.found;
  const at = current === undefined ? -1 : found.indexOf(current);

  useEffect(() => {
    if (timer.current === undefined) setTyped(text); // who types on is not set back
    find.seek({ text, places });
  }, [text, places]);
  useLayoutEffect(() => {
    if (!wantsFocus.current || !input.current) return;
    wantsFocus.current = false;
    input.current.select();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (awaited.current !== 0 && found.length > 0) next(awaited.current);
    const named = query.get('hit');
    const led = named === null || current !== undefined ? undefined : found.find((one) => foundKey(one) === named);
    if (led) find.at.value = { found: led };
  }, [state, found]); // which may be the same array, grown

  const rev = outline.complete.value ? columns?.rev : undefined;
  const shownRev = useRef(rev);
  useEffect(() => {
    if (shownRev.current !== undefined && shownRev.current !== rev) find.grown();
    shownRev.current = rev;
  }, [rev]);

  const stopTimer = () => {
    clearTimeout(timer.current);
    timer.current = undefined;
  };
  const write = (sought: { text?: string; places?: string }) => {
    stopTimer();
    awaited.current = 0;
    setQuery({ q: sought.text ?? typed, in: sought.places ?? places, hit: null }, { replace: true });
  };
  const open = () => {
    find.isOpen.value = true;
    if (document.activeElement !== input.current) before.current = document.activeElement;
    wantsFocus.current = true;
    input.current?.select();
  };
  const close = () => {
    stopTimer();
    awaited.current = 0;
    find.isOpen.value = false;
    const hadFocus = document.activeElement === input.current;
    setQuery({ q: null, in: null, hit: null }, { replace: true });
    if (hadFocus && before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
  };
  const next = (step: 1 | -1): boolean => {
    if (!isOpen) return false;
    if (typed !== text) write({});
    if (typed !== text || found.length === 0) {
      const isNowhere = state?.complete && state.found.length === 0 && typed === text; // else the outline is still to come
      awaited.current = typed === '' || isNowhere ? 0 : step;
      return true;
    }
    awaited.current = 0;
    const to = found[nextIndex(step)];
    if (to) goTo(to);
    return true;
  };
  const goTo = (one: SessionMatch) => {
    find.at.value = { found: one };
    const address = { span: one.span_id, hit: foundKey(one) };
    if (lens === 'talk') setQuery(address, { replace: true });
    else go(`${lensPath(id, 'talk')}?${new URLSearchParams({ q: text, ...(places && { in: places }), ...address })}`);
  };
  /** From the one that is shown, or from where the reader is. */
  function nextIndex(step: 1 | -1): number {
    if (at >= 0 || !columns || !rankOf) return (at + step + found.length) % found.length;
    const span = find.readerAt.current();
    const trace_id = columns.traces.trace_id[columns.spans.trace[span] ?? -1];
    const rank =
      span < 0 || trace_id === undefined ? 0 : rankOf({ trace_id, span_id: columns.spans.span_id[span] ?? '' });
    const after = found.findIndex((one) => rankOf(one) >= rank);
    if (step > 0) return Math.max(0, after);
    return after < 0 ? found.length - 1 : (after - 1 + found.length) % found.length;
  }
  useKeys(
    {
      '/': { does: 'find in this session', run: open },
      'Ctrl+f': {
        does: 'find in this session; again: in the page',
        run: () => (document.activeElement === input.current && isOpen ? false : open()),
      },
      n: { does: 'next hit', run: () => next(1) },
      N: { does: 'hit before', run: () => next(-1) },
      ...(isOpen && { Escape: { does: 'close find', run: close } }),
    },
    { scope: 'Find' },
  );
  if (!isOpen) return null;
  return (
    <>
      <FindBar
        {...{ typed, places, state, at, current, input }}
        failure={find.failure.value}
        onType={(text) => {
          setTyped(text);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => write({ text }), PAUSE_MS);
        }}
        onPlaces={(places) => write({ places })}
        onNext={next}
        onRetry={find.again}
        onClose={close}
      />
      {current?.side === 'prompt' && <FoundPrompt found={current} />}
    </>
  );
}
