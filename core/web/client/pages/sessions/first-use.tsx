/** What somebody sees who has recorded nothing yet: the line to paste, a sign of the first call, and the demo. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Status } from '../../../../model/status.ts';
import { seedDemo } from '../../api/demo.ts';
import { isAbort } from '../../api/request.ts';
import { readStatus } from '../../api/service.ts';
import { hrefOf } from '../../base.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { grouped } from '../../parts/number-text.ts';
import { Problem } from '../../parts/problem.tsx';
import { showToast } from '../../parts/toast.tsx';
import { proxyAddress, setupLines } from './setup-lines.ts';
import './first-use.css';

/** @param hasCall the first call is recorded, and its row is being read @param onSeeded the demo is stored */
export function FirstUse({ hasCall, onSeeded }: { hasCall: boolean; onSeeded: () => void }) {
  const [status, setStatus] = useState<Status | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const reading = new AbortController();
    readStatus(reading.signal).then(setStatus, (thrown) => {
      if (!isAbort(thrown)) setError(thrown);
    });
    return () => reading.abort();
  }, []);
  return (
    <section class="first-use">
      <h2>Point a client here</h2>
      {error !== null && <Problem error={error} />}
      {status !== null && <SetupTable service={status.service} />}
      {status !== null && <Unrecorded coverage={status.coverage} />}
      <p
        class={hasCall ? 'waiting-for-call arrived' : 'waiting-for-call'}
        role="status"
        data-waiting={hasCall ? 'no' : 'yes'}
      >
        {hasCall ? '✓ the first call is recorded' : 'waiting for the first call …'}
      </p>
      <DemoButton onSeeded={onSeeded} />
    </section>
  );
}

export function SetupTable({ service }: { service: Status['service'] }) {
  const proxy = proxyAddress(service, location.hostname);
  if (proxy === null)
    return <p>The process that answers here has no capture proxy: look at the one that has it for its address.</p>;
  return (
    <dl class="setup-lines">
      {setupLines(proxy).map(({ client, line }) => (
        <div key={client}>
          <dt>{client}</dt>
          <dd>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, which needs the focus */}
            <code tabIndex={0}>{line}</code>
            <CopyButton text={line} label={`Copy the line for ${client}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Requests came, and none of them is a turn: what keeps them out is on the page of health. */
function Unrecorded({ coverage: { requests, outcomes } }: { coverage: Status['coverage'] }) {
  if (requests === 0 || outcomes.captured + outcomes.partial > 0) return null;
  return (
    <p class="first-use-notice" data-unrecorded={requests}>
      {grouped(requests)} {requests === 1 ? 'request' : 'requests'} came, and none of them is recorded:{' '}
      <a href={hrefOf('/health')}>why</a>
    </p>
  );
}

function DemoButton({ onSeeded }: { onSeeded: () => void }) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isShown = useRef(true);
  useEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  const seed = () => {
    setRunning(true);
    setError(null);
    seedDemo().then(onSeeded, (thrown) => {
      if (!isShown.current) return showToast(`The demo is not whole: ${(thrown as Error).message}`); // its rows are here instead
      setRunning(false);
      setError(thrown);
    });
  };
  return (
    <div class="demo-offer">
      <h2>Or look around first</h2>
      <p>Stores the sessions of a demo in this record. They stay until you delete them.</p>
      <button type="button" data-action="seed-demo" disabled={isRunning} onClick={seed}>
        {isRunning ? 'storing the demo …' : 'Show me a demo'}
      </button>
      {error !== null && <Problem error={error} />}
    </div>
  );
}
