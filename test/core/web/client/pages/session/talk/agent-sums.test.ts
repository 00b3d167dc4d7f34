import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { agentSums } from '../../../../../../../core/web/client/pages/session/talk/agent-sums.ts';
import { mergeOutline, spanIndex } from '../../../../../../../core/web/client/store/outline-columns.ts';
import { outlineAnswer, type Step, uuidOf } from '../../../../../../support/outline-answer.ts';

const test = suite('agentSums');

const agent: Step = { id: 'agent', trace: 't', kind: 'agent', thread: 'a' };
const call = (id: string, more: Partial<Step>): Step => ({ id, trace: 't', kind: 'llm', thread: 'a', ...more });
const sumsOf = (...calls: Step[]) => {
  const columns = mergeOutline(null, outlineAnswer({ traces: [{ id: 't' }], steps: [agent, ...calls] }));
  return agentSums(columns, spanIndex(columns, '', uuidOf('agent')));
};
const priced = call('priced', { input_tokens: 10, output_tokens: 2, cost_usd: 0.5 });

test('a try that was refused used nothing, so the sum is whole', () => {
  const { calls, tokens, cost_usd, isAtLeast } = sumsOf(call('refused', { status: 'error', cost_usd: null }), priced);
  assert.equal([calls, tokens, cost_usd, isAtLeast], [2, 12, 0.5, false]);
});

test('a call whose model has no known price makes the sum a part', () => {
  assert.is(sumsOf(call('unpriced', { input_tokens: 3, cost_usd: null }), priced).isAtLeast, true);
});

test('so does one whose answer states no usage', () => {
  assert.is(sumsOf(call('answered', { status: 'ok', cost_usd: null }), priced).isAtLeast, true);
});

test.run();
