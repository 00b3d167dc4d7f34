/** The page of one call's bytes: what passed, both sides, with headers and timing. */
import { useEffect, useState } from 'preact/hooks';
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { useAddress } from '../../../address.ts';
import { readRawTurn, type TurnSide } from '../../../api/raw-turns.ts';
import { useKeys } from '../../../keys.ts';
import { Page } from '../../../parts/page.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { CallPlace } from '../call/call-place.tsx';
import { useCallAddress } from '../call/use-call-address.ts';
import { useCalls } from '../call/use-calls.ts';
import { BytesHead } from './bytes-head.tsx';
import { SideTabs, SideView } from './side-view.tsx';
import { TimingBar } from './timing-bar.tsx';
import { TurnChain } from './turn-chain.tsx';
import './bytes.css';

const PATH = /^\/sessions\/([\da-f-]{36})\/calls\/(\d{1,15})\/bytes$/;

export function BytesPage() {
  const { query, setQuery } = useAddress();
  const { session, raw_turn_id } = useCallAddress(PATH);
  const [turn, setTurn] = useState<RawTurnSides | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const of = useCalls(session);
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

  const show = (other: TurnSide) => setQuery({ side: other === 'response' ? other : null }, { replace: true });
  useKeys(
    {
      s: { does: 'the other side', run: () => show(side === 'request' ? 'response' : 'request') },
    },
    { scope: 'Call' },
  );
  const current = turn?.raw_turn_id === raw_turn_id ? turn : null;
  const title = current ? `${current.method ?? 'call'} ${current.url ?? ''}` : `Call ${raw_turn_id}`;
  return (
    <Page name="bytes" title={title} state={failure !== null ? 'error' : current ? 'ready' : 'loading'}>
      <CallPlace {...{ session, raw_turn_id, of }} current="bytes" kept={side === 'response' ? '?side=response' : ''} />
      {failure !== null && <Problem error={failure} onRetry={() => setAttempt(attempt + 1)} />}
      {current && failure === null && (
        <>
          <BytesHead turn={current} />
          <TimingBar turn={current} />
          <SideTabs turn={current} side={side} onSide={show} />
          <SideView key={`${raw_turn_id} ${side}`} turn={current} side={side} />
          <TurnChain key={raw_turn_id} turn={current} />
        </>
      )}
    </Page>
  );
}
