/** The page of one call's bytes: what passed, both sides, with headers and timing. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { useAddress } from '../../../address.ts';
import { readOutline } from '../../../api/outline.ts';
import { readRawTurn, type TurnSide } from '../../../api/raw-turns.ts';
import { hrefOf } from '../../../base.ts';
import { useKeys } from '../../../keys.ts';
import { Page } from '../../../parts/page.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { sessionOutline } from '../../../store/outline.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { BytesHead } from './bytes-head.tsx';
import { neighbours, placeOf } from './call-order.ts';
import { SideView } from './side-view.tsx';
import { TimingBar } from './timing-bar.tsx';
import { TurnChain } from './turn-chain.tsx';
import './bytes.css';

const PATH = /^\/sessions\/([\da-f-]{36})\/calls\/(\d{1,15})(?:\/bytes)?$/;

export function BytesPage() {
  const { path, query, setQuery, go } = useAddress();
  const [, session = '', number = ''] = PATH.exec(path) ?? [];
  const raw_turn_id = Number(number);
  const [turn, setTurn] = useState<RawTurnSides | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const calls = useCalls(session);
  const side: TurnSide = query.get('side') === 'response' ? 'response' : 'request';

  useEffect(() => {
    const controller = new AbortController();
    setFailure(null);
    readRawTurn(raw_turn_id, controller.signal).then(
      (read) => setTurn(read),
      (error: unknown) => !controller.signal.aborted && setFailure(error),
    );
    return () => controller.abort();
  }, [raw_turn_id, attempt]);

  const { before, after } = neighbours(calls, raw_turn_id);
  const goTo = (other: number | null) => {
    if (other === null) return false;
    go(`/sessions/${session}/calls/${other}${side === 'response' ? '?side=response' : ''}`);
    return true;
  };
  const show = (other: TurnSide) => setQuery({ side: other === 'response' ? other : null }, { replace: true });
  useKeys(
    {
      '[': { does: 'previous call', run: () => goTo(before) },
      ']': { does: 'next call', run: () => goTo(after) },
      s: { does: 'the other side', run: () => show(side === 'request' ? 'response' : 'request') },
      u: { does: 'up to the session', run: () => go(`/sessions/${session}`) },
    },
    { scope: 'Call' },
  );
  const current = turn?.raw_turn_id === raw_turn_id ? turn : null;
  const title = current ? `${current.method ?? 'call'} ${current.url ?? ''}` : `Call ${number}`;
  return (
    <Page name="bytes" title={title} state={failure !== null ? 'error' : current ? 'ready' : 'loading'}>
      <nav class="bytes-place" aria-label="Place">
        <a href={hrefOf(`/sessions/${session}`)}>‹ session</a>
        <span>{placeOf(calls, raw_turn_id)}</span>
        <button
          type="button"
          title="Previous call ([)"
          aria-keyshortcuts="["
          disabled={before === null}
          onClick={() => goTo(before)}
        >
          [ previous
        </button>
        <button
          type="button"
          title="Next call (])"
          aria-keyshortcuts="]"
          disabled={after === null}
          onClick={() => goTo(after)}
        >
          next ]
        </button>
      </nav>
      {failure !== null && <Problem error={failure} onRetry={() => setAttempt(attempt + 1)} />}
      {current && failure === null && (
        <>
          <BytesHead turn={current} />
          <TimingBar turn={current} />
          <SideView key={`${raw_turn_id} ${side}`} turn={current} side={side} onSide={show} />
          <TurnChain key={raw_turn_id} turn={current} />
        </>
      )}
    </Page>
  );
}

/** The session's calls in order of time, by the numbers of their raw turns. */
function useCalls(session: string): number[] {
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
