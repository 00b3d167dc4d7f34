/** The card of a sub-agent: what it was sent out for, its sums, and a lane on the time axis that it shares with those sent out beside it. */
import { Cost, Count, Duration, Tokens } from '../../../parts/figure.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import { StatusMark } from '../../../parts/status-mark.tsx';
import { agentSums } from './agent-sums.ts';
import { stepFacts } from './step-facts.ts';
import { useTalk } from './talk-context.ts';
import type { LaneSpan } from './trace-steps.ts';

export function AgentRow({ agent, isUnfoldable }: { agent: number; isUnfoldable: boolean }) {
  const { columns, rows, folds, openThread } = useTalk();
  const facts = stepFacts(columns, agent);
  const open = isUnfoldable && folds.isOpen('agent', facts.span_id);
  const lanes = rows.lanes.get(agent);
  const parent = columns.spans.parent[agent] ?? -1;
  const isStartSeen = parent >= 0 && columns.names[columns.spans.kind[parent] ?? -1] === 'tool';
  return (
    <div class="talk-agent">
      <p class="agent-head">
        {isUnfoldable ? (
          <button
            type="button"
            class="fold agent-name"
            aria-expanded={open}
            onClick={() => folds.toggle('agent', facts.span_id)}
          >
            <AgentName name={facts.name} /> <span aria-hidden="true">{open ? '▾' : '▸'}</span>
          </button>
        ) : (
          <span class="agent-name">
            <AgentName name={facts.name} />
          </span>
        )}
        <span class="agent-task">
          <Recorded text={facts.label} />
        </span>
        <Sums agent={agent} status={facts.status} />
        <button type="button" class="open-thread" onClick={() => openThread(facts.thread, agent)}>
          open thread
        </button>
      </p>
      {!isStartSeen && <p class="muted">its start was not seen on the wire</p>}
      {lanes && (
        <div class="lanes" role="img" aria-label="When this sub-agent and those below it were at work">
          <Lane span={agent} lanes={lanes} />
        </div>
      )}
      {(rows.below.get(agent) ?? []).map((below) => (
        <div key={below} class="agent-below">
          <span>
            nested: <Recorded text={stepFacts(columns, below).name} />
          </span>
          {lanes && (
            <span class="lanes" aria-hidden="true">
              <Lane span={below} lanes={lanes} />
            </span>
          )}
          <Sums agent={below} status={stepFacts(columns, below).status} />
        </div>
      ))}
    </div>
  );
}

const AgentName = ({ name }: { name: string }) => (
  <>
    <Icon name="agent" /> <Recorded text={name} />
  </>
);

function Sums({ agent, status }: { agent: number; status: string }) {
  const { columns } = useTalk();
  const { calls, tokens, cost_usd, isAtLeast, errors } = agentSums(columns, agent);
  const { duration_us } = stepFacts(columns, agent);
  return (
    <span class="agent-sums">
      <StatusMark status={status} word={status === 'ok' ? 'ok' : status} />
      <Duration us={duration_us} />
      <span>
        <Count count={calls} name="calls" /> {calls === 1 ? 'call' : 'calls'}
      </span>
      <span>
        <Tokens count={tokens} /> tok
      </span>
      <Cost usd={cost_usd} atLeast={isAtLeast} />
      {errors > 0 && <StatusMark status="error" word={`${errors} failed`} />}
    </span>
  );
}

/** A bar from the start to the end of an agent, as shares of the common axis. */
function Lane({ span, lanes }: { span: number; lanes: LaneSpan }) {
  const { spans } = useTalk().columns;
  const whole = Math.max(1, lanes.to_us - lanes.from_us);
  const left = Math.min(1, Math.max(0, ((spans.started_us[span] ?? 0) - lanes.from_us) / whole));
  const width = Math.min(1 - left, Math.max(0.004, (spans.duration_us[span] || 0) / whole));
  return (
    <svg class="lane" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="lane-ground" x="0" y="3" width="1000" height="2" />
      <rect class="lane-bar" x={left * 1_000} y="0" width={Math.max(4, width * 1_000)} height="8" />
    </svg>
  );
}
