/** An answer may ask for any number of tools: some are shown, all are counted, and none costs more than the one before. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import {
  type Answer,
  answer,
  assistant,
  type Call,
  injected,
  toolResult,
  toolUse,
  user,
} from '../../support/call-turn.ts';
import { arriving, dump } from '../../support/fold-store.ts';

const test = suite('many steps');

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const uses = (count: number): ContentBlock[] =>
  range(count).map((n) => toolUse(`t${n}`, 'Bash', { command: `ls ${n}` }));
const results = (count: number): ContentBlock[] => range(count).map((n) => toolResult(`t${n}`));

/** An answer with so many calls, and the call that brings all their results. */
const asksFor = (count: number): Call[] => {
  const prompt = user('List everything');
  const history = [prompt, { ...assistant(), content: uses(count) }, { ...user(), content: results(count) }];
  return [
    { at: 0, says: [prompt], answers: { content: uses(count) } },
    { at: 2, says: history, answers: answer('All listed') },
  ];
};

const named = (calls: readonly Call[]): Call[] =>
  calls.map((call, i) => ({ ...call, call_id: `call-${i}`, raw_turn_id: i + 1 }));

const folded = (calls: Call[]) => {
  const { traces, spans, links } = arriving(named(calls), [0], calls.length);
  return { traces: [...traces.values()], spans: [...spans.values()], links: [...links.values()] };
};

test('200,000 tool calls in one answer are 2,000 spans, and the answer counts the others', () => {
  const from = process.cpuUsage();
  const { traces, spans, links } = folded(asksFor(200_000));
  const { user: micros } = process.cpuUsage(from);
  const tools = spans.filter(({ kind }) => kind === 'tool');
  assert.is(tools.length, 2_000);
  assert.equal(
    spans.filter(({ kind }) => kind === 'llm').map((span) => span.tool_calls_omitted),
    [198_000, 0],
  );
  assert.is(traces[0]?.tool_calls, 200_000);
  assert.is(traces[0]?.span_count, spans.length);
  assert.is(
    spans.find(({ kind }) => kind === 'llm')?.output.length,
    2_000,
    'all of them are in the raw turn and its node',
  );
  const ids = new Set(spans.map(({ span_id }) => span_id));
  assert.ok(links.every(({ from_span_id, to_span_id }) => ids.has(from_span_id) && ids.has(to_span_id)));
  assert.ok(links.length <= 4_000);
  assert.ok(micros < 60_000_000, `${micros} µs`); // looking through the answer for each call took many minutes
});

test('2,000 tool calls in one answer are all shown', () => {
  const { spans } = folded(asksFor(2_000));
  assert.is(spans.filter(({ kind }) => kind === 'tool').length, 2_000);
  assert.ok(spans.every(({ tool_calls_omitted, events_omitted }) => tool_calls_omitted + events_omitted === 0));
});

test('more tool calls than are shown: from scratch, call by call and late, the rows are the same', () => {
  const calls = named(asksFor(2_100));
  const whole = dump(arriving(calls, [0], calls.length));
  assert.equal(dump(arriving(calls, [0], 1)), whole);
  assert.equal(dump(arriving(calls, [1, 0], 1)), whole);
});

test('tools that the provider ran have the first result after them, however many there are', () => {
  const content = range(2_500).flatMap((n): ContentBlock[] => [
    { type: 'server_tool_use', tool_use_id: `s${n}`, tool_name: 'web_search', tool_input: { query: `${n}` } },
    { type: 'web_search_tool_result', tool_result_id: `s${n}`, content: [`found ${n}`] },
  ]);
  const early: ContentBlock = { type: 'web_search_tool_result', tool_result_id: 's7', content: ['of before'] };
  const reply: Answer = { content: [early, ...content] };
  const tools = folded([{ at: 0, says: [user('Search')], answers: reply }]).spans.filter(({ kind }) => kind === 'tool');
  assert.is(tools.length, 2_000);
  for (const [n, { output, status }] of tools.entries())
    assert.equal([output[0]?.content, status], [[`found ${n}`], 'ok']);
});

test('of 5,000 messages that were put in with one call 2,000 are events, and the call counts the others', () => {
  const says = range(5_000).map((n) => injected('reminder', `Remember ${n}`));
  const { spans } = folded([{ at: 0, says: [...says, user('Go')], answers: answer('Gone') }]);
  assert.is(spans.filter(({ kind }) => kind === 'event').length, 2_000);
  assert.is(spans.find(({ kind }) => kind === 'llm')?.events_omitted, 3_000);
});

test('what a transcript tells is bounded by its bytes alone', () => {
  const calls = asksFor(2_100).map((call): Call => ({ ...call, source: 'transcript' }));
  const { spans } = folded(calls);
  assert.is(spans.filter(({ kind }) => kind === 'tool').length, 2_100);
  assert.ok(spans.every(({ tool_calls_omitted }) => tool_calls_omitted === 0));
});

test.run();
