/** The page that a link to one span opens: it reads which session the span belongs to now, and goes there. */
import { useEffect, useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { isAbort } from '../../api/request.ts';
import { readSpan } from '../../api/spans.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const ADDRESS = new RegExp(`^/spans/(${UUID})/(${UUID})/?$`, 'i');

export function SpanPage() {
  const { path } = useAddress();
  const [, trace_id, span_id] = ADDRESS.exec(path) ?? [];
  if (trace_id === undefined || span_id === undefined)
    return (
      <Page name="span" title="No span" state="error">
        <h1>No such span</h1>
        <p>The address names no span: its ids are not complete.</p>
      </Page>
    );
  return <Resolve key={path} trace_id={trace_id} span_id={span_id} />;
}

/** Ids of traces and spans stay when a session is attributed anew, so such a link outlives that. */
function Resolve({ trace_id, span_id }: { trace_id: string; span_id: string }) {
  const { go } = useAddress();
  const [failure, setFailure] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    readSpan(trace_id, span_id, controller.signal).then(
      ({ session_id }) => go(`/sessions/${session_id}?span=${span_id}`, { replace: true }),
      (error) => !isAbort(error) && setFailure(error),
    );
    return () => controller.abort();
  }, [trace_id, span_id, attempt]);
  return (
    <Page name="span" title="Span" state={failure === null ? 'loading' : 'error'}>
      <h1>Span</h1>
      {failure !== null && (
        <Problem
          error={failure}
          onRetry={() => {
            setFailure(null);
            setAttempt(attempt + 1);
          }}
        />
      )}
    </Page>
  );
}
