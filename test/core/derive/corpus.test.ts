/** A recorded session of three agents, one below the other. (Reference section 10.9.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProjectionChanges, SpanRow } from '../../../core/derive/changes.ts';
import { noEvidence, type TranscriptEvidence } from '../../../core/derive/evidence.ts';
import { fold } from '../../../core/derive/fold.ts';
import { noChanges, summed } from '../../../core/derive/merge-changes.ts';
import { compareKeys } from '../../../core/derive/order.ts';
import { emptyState } from '../../../core/derive/state.ts';
import type { CallTurn } from '../../../core/derive/turn.ts';
import { SESSION } from '../../support/call-turn.ts';
import { corpus } from '../../support/corpus-calls.ts';

const test = suite('the Codex corpus');
const CHILD = '019f8d46-e663-74e1-940c-f82e34c07618';
const GRANDCHILD = '019f8d47-0473-7743-a1ed-9e4c0ae92ad8';

function projection(turns: readonly CallTurn[], evidence: TranscriptEvidence = noEvidence): ProjectionChanges {
  const sum = noChanges();
  fold(emptyState(SESSION), turns, { sum, checkpoints: [], evidence });
  const changes = summed(sum);
  if (!changes) throw new Error('Cannot project: no calls');
  return changes;
}
const count = (rows: readonly { kind: string }[], kind: string) => rows.filter((row) => row.kind === kind).length;
const agentOf = ({ spans }: ProjectionChanges, thread: string): SpanRow | undefined =>
  spans.find(({ kind, thread_id }) => kind === 'agent' && thread_id === thread);
const spanOf = ({ spans }: ProjectionChanges, id: string | null | undefined) =>
  spans.find(({ span_id }) => span_id === id);

const read = corpus();
if (read) {
  const { turns, anchors } = read;
  const anchored = { ...noEvidence, anchors };
  /** Without the words of the harness by which a path is found. */
  const unnamed = turns.map((turn) => ({ ...turn, identity: { ...turn.identity, harness_metadata: null } }));

  test('the counts are those of the reference', () => {
    const { traces, spans, links, rollup } = projection(turns, anchored);
    assert.equal(rollup.kind_counts, { main: 13 });
    assert.equal(
      traces.map(({ synthetic }) => synthetic),
      [''],
    );
    assert.equal(
      ['agent', 'llm', 'tool', 'event'].map((kind) => count(spans, kind)),
      [3, 13, 10, 0],
    );
    const of = (kind: string) => count(links, kind);
    assert.equal([of('emits'), of('feeds'), of('rejoin'), of('verdict'), of('compaction-seam')], [10, 10, 2, 0, 0]);
    assert.equal([of('fork-of'), of('retry-of')], [0, 0]);
    assert.is(rollup.status, 'completed');
    assert.match(traces[0]?.user_prompt ?? '', /^Attribution test only/);
  });

  for (const [how, given, evidence] of [
    ['anchor rows name the tool call', unnamed, anchored],
    ['the path in a call and the task name in a result agree', turns, noEvidence],
  ] as const)
    test(`a child stands under the call that spawned it, a grandchild under the child's: ${how}`, () => {
      const rows = projection(given, evidence);
      const [child, grandchild] = [agentOf(rows, CHILD), agentOf(rows, GRANDCHILD)];
      const [spawn, deeper] = [spanOf(rows, child?.parent_span_id), spanOf(rows, grandchild?.parent_span_id)];
      assert.equal([spawn?.name, spawn?.external_id], ['spawn_agent', 'call_J7B6r7ZdtqkECtSJV8YDQaL7']);
      assert.equal([deeper?.name, deeper?.external_id], ['spawn_agent', 'call_sQQ4ZV6SPacs8MmDrGYsdLDD']);
      assert.is(deeper?.parent_span_id, child?.span_id);
      assert.is(count(rows.links, 'rejoin'), 2);
      assert.is(child?.description, '/root/depth2_cli_child');
      assert.is(child?.name, given === turns ? 'Volta' : 'depth2_cli_child');
      const asking = rows.spans.find(
        ({ kind, output }) => kind === 'llm' && output.some((b) => b.tool_use_id === spawn?.external_id),
      );
      const toolInput = asking?.output.find(({ type }) => type === 'tool_use')?.tool_input as Record<string, unknown>;
      assert.equal(spawn?.input[0]?.tool_input, toolInput, 'the tool shows what the model sent');
    });

  test('without any evidence the agents stand under the root and nothing rejoins', () => {
    const rows = projection(unnamed);
    const root = rows.spans.find(({ parent_span_id }) => parent_span_id === null);
    for (const thread of [CHILD, GRANDCHILD]) assert.is(agentOf(rows, thread)?.parent_span_id, root?.span_id);
    assert.equal([rows.traces.length, count(rows.links, 'rejoin')], [1, 0]);
    assert.equal(
      ['agent', 'llm', 'tool', 'event'].map((kind) => count(rows.spans, kind)),
      [3, 13, 10, 0],
    );
  });

  test('ambiguous evidence anchors nothing', () => {
    // Both results name a task `worker`, and both threads end in it.
    const path = '/root/somewhere/worker';
    const source = { subagent: { thread_spawn: { agent_path: path } } };
    const ambiguous = corpus((row) => {
      const text = JSON.stringify(row.raw_request).replaceAll(
        /\\"task_name\\":\\"[^"\\]*\\"/g,
        '\\"task_name\\":\\"worker\\"',
      );
      const meta = row.meta.thread_id ? { harness_metadata: { source } } : { harness_metadata: {} };
      return { ...row, raw_request: JSON.parse(text), session_envelope: { ...row.session_envelope, ...meta } };
    });
    const rows = projection((ambiguous?.turns ?? []).filter(({ thread_id }) => thread_id !== GRANDCHILD));
    assert.ok(spanOf(rows, agentOf(rows, CHILD)?.parent_span_id)?.name === 'spawn_agent', 'one name, one thread');
    // With the child's calls on the main thread, two results there name a worker.
    const named = (ambiguous?.turns ?? []).map((turn) =>
      turn.thread_id === CHILD ? { ...turn, thread_id: '' } : turn,
    );
    const both = projection(named);
    assert.is(spanOf(both, agentOf(both, GRANDCHILD)?.parent_span_id)?.name, 'main');
    assert.is(count(both.links, 'rejoin'), 0);
  });

  test('in whatever order the calls are given, sorted they give the same rows', () => {
    const reversed = [...turns].reverse().sort(compareKeys);
    assert.equal(projection(reversed, anchored), projection(turns, anchored));
  });
}

test.run();
