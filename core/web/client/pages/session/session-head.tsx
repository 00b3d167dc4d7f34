/** The head of a session: what it is called, who made it, what it cost, and what can be done with it. */
import { useMemo } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { useAddress } from '../../address.ts';
import { hrefOf } from '../../base.ts';
import { Cost, Count, Duration, Tokens } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { now } from '../../store/clock.ts';
import { outlineIndex } from '../../store/outline-index.ts';
import { listPath, returnFrom } from '../sessions/place.ts';
import { costReason, count, statusOf } from '../sessions/row-text.ts';
import { mayHaveBroken } from './cache/may-have-broken.ts';
import { lensAddress } from './lens-address.ts';
import { SessionActions } from './session-actions.tsx';
import { useSession } from './session-store.ts';
import { TaskList } from './task-list.tsx';
import './session-head.css';

const LONGEST_TITLE = 2_000;

export function SessionHead() {
  const { id, session: read } = useSession();
  const session = read.value;
  return (
    <header class="session-head">
      <div class="head-title">
        <a
          class="back"
          href={hrefOf(listPath())}
          onClick={({ ctrlKey, metaKey, shiftKey }) => {
            if (!ctrlKey && !metaKey && !shiftKey) returnFrom(id); // else it opens elsewhere
          }}
          title="Back to the sessions (u)"
          aria-label="Back to the sessions"
          aria-keyshortcuts="u"
        >
          ‹
        </a>
        <h1>
          <Recorded text={(session?.display_title ?? 'Session').slice(0, LONGEST_TITLE)} />
        </h1>
        {session && <SessionActions session={session} />}
      </div>
      {session === null ? (
        <div class="session-coming" aria-hidden="true" />
      ) : (
        <>
          <p class="session-source">
            <StatusMark status={statusOf(session, now.value)} />
            <Source session={session} />
          </p>
          <Figures session={session} />
          <Notes session={session} />
          <TaskList tasks={session.rollup.tasks} />
        </>
      )}
    </header>
  );
}

function Source({ session }: { session: Session }) {
  const words = [
    [session.agent_name ?? session.harness_id, session.harness_version ?? ''].filter(Boolean).join(' '),
    session.cwd ?? session.project ?? '',
    session.git_branch ?? '',
    session.auth_subject ?? '',
  ];
  return words
    .filter((word) => word !== '')
    .map((word) => (
      <span key={word}>
        <Recorded text={word.slice(0, 300)} />
      </span>
    ));
}

function Figures({ session }: { session: Session }) {
  const columns = useSession().outline.columns.value;
  const { usage, turn_count, kind_counts, tool_error_count } = session.rollup;
  const calls = columns
    ? outlineIndex(columns).calls.length
    : Object.values(kind_counts).reduce((sum, count) => sum + count, 0);
  const share = usage.input_tokens > 0 ? Math.round((usage.cache_read_tokens / usage.input_tokens) * 100) : 0;
  const lasted = (Date.parse(session.ended_at ?? session.last_seen_at) - Date.parse(session.started_at)) * 1_000;
  return (
    <p class="session-figures">
      <strong>
        <Cost usd={usage.cost_usd} reason={costReason(session) ?? ''} atLeast={usage.unpriced_models.length > 0} />
      </strong>
      <span>
        in <Tokens count={usage.input_tokens} name="input_tokens" />
        {share > 0 && <span class="muted"> ({share} % cache read)</span>}
      </span>
      <span>
        out <Tokens count={usage.output_tokens} name="output_tokens" />
      </span>
      <span>
        <Count count={turn_count} name="turn_count" /> {turn_count === 1 ? 'prompt' : 'prompts'} ·{' '}
        <Count count={calls} name="calls" /> {calls === 1 ? 'call' : 'calls'}
      </span>
      <Duration us={lasted} />
      <Breaks />
      {tool_error_count > 0 && (
        <StatusMark status="error" word={`${tool_error_count} ${tool_error_count === 1 ? 'tool' : 'tools'} failed`} />
      )}
    </p>
  );
}

/** How often the cache broke, and what that cost. Its place is there before it is known, so that nothing moves. */
function Breaks() {
  const { id, outline, breaks } = useSession();
  const { query } = useAddress();
  const columns = outline.columns.value;
  const mayCome = useMemo(() => columns !== null && mayHaveBroken(columns, outlineIndex(columns)), [columns]);
  const cache = breaks.cache.value;
  const found = cache?.breaks.filter(({ planned }) => !planned) ?? [];
  const count = found.length;
  if (!cache || count === 0) return mayCome ? <span class="head-breaks" /> : null;
  return (
    <a class="head-breaks" href={hrefOf(lensAddress(id, 'cache', query, found[0]?.span_id ?? ''))}>
      ◆ <Count count={count} name="breaks" /> {count === 1 ? 'cache break' : 'cache breaks'}
      {cache.lost_usd !== null && (
        <>
          {' '}
          −<Cost usd={cache.lost_usd} name="breaks_lost_usd" />
        </>
      )}
    </a>
  );
}

/** What a reader has to know before the numbers mean what they seem to. */
function Notes({ session }: { session: Session }) {
  const { fork_of_session_id, parent_session_id, rollup } = session;
  const columns = useSession().outline.columns.value;
  const { traces, names } = columns ?? {};
  const isTranscript =
    traces && names && traces.count > 0 && traces.source.every((source) => names[source] === 'transcript');
  return (
    <>
      {fork_of_session_id !== undefined && (
        <p class="session-note" data-note="fork">
          ⑂ goes on from <a href={hrefOf(`/sessions/${fork_of_session_id}`)}>another session</a>
          {rollup.inherited_calls !== undefined &&
            `: ${count(rollup.inherited_calls, 'call')} of its history ${rollup.inherited_calls === 1 ? 'counts' : 'count'} there`}
        </p>
      )}
      {parent_session_id !== undefined && (
        <p class="session-note">
          started by <a href={hrefOf(`/sessions/${parent_session_id}`)}>another session</a>
        </p>
      )}
      {isTranscript && <p class="session-note">from a transcript: no prompts of the system, no exact tokens</p>}
    </>
  );
}
