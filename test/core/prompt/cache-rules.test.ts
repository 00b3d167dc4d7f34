import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CacheBreak } from '../../../core/model/cache-break.ts';
import type { CacheCall } from '../../../core/prompt/cache-call.ts';
import { billed, cacheCall, type Given, judged, type Part, type Parts, text, tool } from '../../support/cache-call.ts';

const test = suite('the rules of the prompt cache');

const day = (date: string) => `Runs a command. Today is ${date}, and the shell is the one that a person uses.`;
const TOOLS = [
  tool('Read', 'Reads a file', 4_000),
  tool('Bash', day('Fri Nov 20'), 6_000),
  tool('Edit', 'Edits', 5_000),
];
const SYSTEM = [text('You are an agent.', 1_000), text('Instructions', 4_000, '5m')];
const numbered = (...numbers: number[]): Part[] => numbers.map((n) => text(`message ${n}`, 10_000));
/** The last one marked, as harnesses do. */
const marked = (parts: readonly Part[]): Part[] =>
  parts.map((part, i) => ({ ...part, mark: i === parts.length - 1 ? ('5m' as const) : null }));
const BASE: Required<Parts> = { tools: TOOLS, system: SYSTEM, messages: marked(numbered(1, 2)) }; // 15k + 5k + 20k
const NEXT: Required<Parts> = { ...BASE, messages: marked(numbered(1, 2, 3)) }; // 50k

const first = (given: Partial<Given> = {}) => cacheCall({ parts: BASE, second: 0, usage: billed(0, 40_000), ...given });

/** The only break of the calls, which is that of the last one. */
function only(calls: readonly CacheCall[]): CacheBreak {
  const verdicts = judged(calls);
  assert.equal(
    verdicts.slice(0, -1).filter((one) => one.break),
    [],
  );
  const found = verdicts.at(-1)?.break;
  assert.ok(found, 'no break was found');
  return found;
}

const healthy = (calls: readonly CacheCall[]) => {
  const verdicts = judged(calls);
  assert.equal(
    verdicts.flatMap((one) => one.break ?? []),
    [],
  );
  assert.ok(verdicts.every(({ judged, contradicted }) => judged && !contradicted));
};

const near = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test('tools: a date in a description, to the character', () => {
  const tools = TOOLS.with(1, tool('Bash', day('Sat Nov 21'), 6_000));
  const found = only([first(), cacheCall({ parts: { ...NEXT, tools }, second: 22, usage: billed(0, 50_000) })]);
  assert.is(found.cause, 'tools');
  assert.is(found.ground, 'bytes');
  assert.equal(found.where, { section: 'tools', block: 1, path: 'tools[1].description', char: 25 });
  assert.match(found.was ?? '', 'Today is Fri Nov 20');
  assert.match(found.is ?? '', 'Today is Sat Nov 21');
  assert.is(found.expected_tokens, 34_000); // what was held, without the tool itself
  assert.is(found.rewritten_tokens, 34_000);
  near(found.lost_usd, (34_000 * (3.75 - 0.3)) / 1e6);
  assert.equal(found.before, { raw_turn_id: 0, gap_ms: 22_000, ttl: '5m' });
  assert.is(found.planned, false);
  assert.match(found.advice ?? '', '80 % of the prompt stands behind this block');
});

test('tools: added, removed, and in another order', () => {
  const change = (tools: Part[]) =>
    only([first(), cacheCall({ parts: { ...NEXT, tools }, second: 5, usage: billed(0, 50_000) })]);
  const [read, bash, edit] = TOOLS as [Part, Part, Part];
  const added = change([read, tool('Grep', 'Searches', 500), bash, edit]);
  assert.equal([added.cause, added.where?.path, added.where?.block, added.was], ['tools', 'tools[1]', 1, null]);
  assert.match(added.is ?? '', 'Grep');
  const removed = change([read, edit]);
  assert.equal([removed.cause, removed.where?.path, removed.is], ['tools', 'tools[1]', null]);
  assert.match(removed.was ?? '', 'Bash');
  assert.is(removed.expected_tokens, 34_000);
  const moved = change([bash, read, edit]);
  assert.equal([moved.cause, moved.where?.block, moved.expected_tokens], ['tools', 0, 40_000]);
  const atTheEnd = change([...TOOLS, tool('Grep', 'Searches', 500)]);
  assert.equal([atTheEnd.cause, atTheEnd.where?.path, atTheEnd.where?.block], ['tools', 'tools[3]', 3]);
});

test('system', () => {
  const system = [text('You are an agent.', 1_000), text('Instructions, newer', 4_000, '5m')];
  const found = only([first(), cacheCall({ parts: { ...NEXT, system }, second: 5, usage: billed(0, 50_000) })]);
  assert.is(found.cause, 'system');
  assert.equal(found.where, { section: 'system', block: 4, path: 'system[1].text', char: 12 });
  assert.is(found.expected_tokens, 36_000);
});

test('parameters: the one that changed is named', () => {
  const thinking = '{"type":"enabled","budget_tokens":4000}';
  const found = only([
    first({ parameters: { thinking, tool_choice: '{"type":"auto"}' } }),
    cacheCall({
      parts: NEXT,
      second: 5,
      parameters: { thinking: '{"type":"disabled"}', tool_choice: '{"type":"auto"}' },
      usage: billed(20_000, 30_000),
    }),
  ]);
  assert.equal([found.cause, found.ground], ['parameters', 'bytes']);
  assert.equal(found.where, { section: 'messages', block: 5, path: 'thinking', char: null });
  assert.equal([found.was, found.is], [thinking, '{"type":"disabled"}']);
  assert.is(found.rewritten_tokens, 20_000);
});

test('compaction: listed as planned', () => {
  const messages = marked([text('Summary of the conversation', 3_000)]);
  const found = only([
    first(),
    cacheCall({ parts: { ...BASE, messages }, second: 60, seam: true, usage: billed(0, 23_000) }),
  ]);
  assert.equal([found.cause, found.planned, found.expected_tokens], ['compaction', true, 20_000]);
  near(found.lost_usd, (20_000 * 3.45) / 1e6);
});

test('history: a message changed, went, and moved', () => {
  const change = (messages: Part[]) =>
    only([
      first({ parts: { ...BASE, messages: marked(numbered(1, 2, 3)) }, usage: billed(0, 50_000) }),
      cacheCall({ parts: { ...BASE, messages: marked(messages) }, second: 5, usage: billed(20_000, 40_000) }),
    ]);
  const changed = change([text('message 1, edited', 10_000), ...numbered(2, 3, 4)]);
  assert.is(changed.cause, 'history');
  assert.equal(changed.where, { section: 'messages', block: 5, path: 'messages[0].text', char: 9 });
  assert.equal([changed.expected_tokens, changed.rewritten_tokens], [40_000, 20_000]);
  const gone = change(numbered(2, 3, 4, 5));
  assert.equal([gone.cause, gone.where?.path, gone.is], ['history', 'messages[0]', null]);
  const moved = change(numbered(2, 1, 3, 4));
  assert.equal([moved.cause, moved.expected_tokens], ['history', 50_000]);
});

test('model: another one is planned, and what it did not read is told', () => {
  const found = only([
    first(),
    cacheCall({ parts: NEXT, second: 5, model: 'claude-opus-4-1', usage: billed(0, 50_000) }),
  ]);
  assert.equal([found.cause, found.planned, found.expected_tokens], ['model', true, 40_000]);
  assert.equal([found.was, found.is], ['claude-sonnet-4-5', 'claude-opus-4-1']);
});

test('first: another account', () => {
  const found = only([first(), cacheCall({ parts: NEXT, second: 5, credential: 'two', usage: billed(0, 50_000) })]);
  assert.equal([found.cause, found.planned, found.expected_tokens], ['first', true, 40_000]);
});

test('mark: none, and none within reach', () => {
  const none: Parts = {
    tools: TOOLS,
    system: SYSTEM.map((part) => ({ ...part, mark: null })),
    messages: numbered(1, 2, 3),
  };
  const gone = only([first(), cacheCall({ parts: none, second: 5, usage: billed(0, 0, 50_000) })]);
  assert.equal([gone.cause, gone.ground, gone.where?.block], ['mark', 'bytes', 6]);
  near(gone.lost_usd, (40_000 * (3 - 0.3)) / 1e6); // it was not written, but billed as plain input
  const many = marked([...numbered(1, 2), ...Array.from({ length: 20 }, (_, i) => text(`result ${i}`, 500))]);
  const far = only([
    first(),
    cacheCall({ parts: { ...BASE, messages: many }, second: 5, usage: billed(20_000, 30_000) }),
  ]);
  assert.equal([far.cause, far.rewritten_tokens], ['mark', 20_000]);
  assert.match(far.advice ?? '', 'looks back over 20 blocks');
  const near20 = marked([...numbered(1, 2), ...Array.from({ length: 19 }, (_, i) => text(`result ${i}`, 500))]);
  const reached = only([
    first(),
    cacheCall({ parts: { ...BASE, messages: near20 }, second: 5, usage: billed(20_000, 29_500) }),
  ]);
  assert.is(reached.cause, 'unexplained');
});

test('small: below what the model keeps', () => {
  const parts = (...messages: Part[]): Parts => ({ system: [text('Short', 2_500)], messages: marked(messages) });
  const found = only([
    cacheCall({ parts: parts(text('a', 500)), second: 0, model: 'claude-haiku-4-5', usage: billed(0, 0, 3_000) }),
    cacheCall({
      parts: parts(text('a', 500), text('b', 500)),
      second: 5,
      model: 'claude-haiku-4-5',
      usage: billed(0, 0, 3_500),
    }),
  ]);
  assert.equal([found.cause, found.expected_tokens], ['small', 3_000]);
  assert.match(found.advice ?? '', 'below 4,096 tokens');
});

test('expired: by the lifetime that the usage states, from the last use on', () => {
  const after = (second: number, usage = billed(0, 50_000)) => cacheCall({ parts: NEXT, second, usage });
  const found = only([first(), after(432)]);
  assert.equal([found.cause, found.ground], ['expired', 'clock']);
  assert.equal(found.before, { raw_turn_id: 0, gap_ms: 432_000, ttl: '5m' });
  assert.match(found.advice ?? '', 'would have cost $0.09 more to write once, and saved $0.14 here');
  const hour = only([first({ usage: billed(0, 0, 0, 40_000) }), after(432)]);
  assert.equal([hour.cause, hour.before?.ttl], ['unexplained', '1h']);
  const used = only([
    first(),
    cacheCall({
      parts: { ...BASE, messages: [...BASE.messages, text('aside', 100)] },
      second: 200,
      usage: billed(40_000, 0, 100),
    }),
    after(432),
  ]);
  assert.equal([used.cause, used.before?.gap_ms], ['unexplained', 232_000]);
  assert.is(used.before?.raw_turn_id, 200);
});

test('unexplained: the beginning is identical and young', () => {
  const found = only([first(), cacheCall({ parts: NEXT, second: 22, usage: billed(0, 50_000) })]);
  assert.equal([found.cause, found.ground, found.where], ['unexplained', 'inferred', null]);
  near(found.lost_usd, (40_000 * 3.45) / 1e6);
});

test('a flat low read is a break each time', () => {
  const calls = [0, 1, 2].map((n) =>
    cacheCall({
      parts: { ...BASE, messages: marked(numbered(...Array.from({ length: n + 2 }, (_, i) => i))) },
      second: n * 10,
      usage: billed(n === 0 ? 0 : 20_000, (n === 0 ? 40_000 : 20_000) + n * 10_000),
    }),
  );
  assert.equal(
    judged(calls).map((one) => one.break?.rewritten_tokens ?? 0),
    [0, 20_000, 30_000],
  );
});

test('more read than is in common: the cause is inferred, and the contradiction is reported', () => {
  const tools = TOOLS.with(0, tool('Read', 'Reads a file, quickly', 4_000));
  const verdict = judged([
    first(),
    cacheCall({ parts: { ...NEXT, tools }, second: 5, usage: billed(20_000, 30_000) }),
  ])[1];
  assert.equal([verdict?.break?.cause, verdict?.break?.ground, verdict?.contradicted], ['tools', 'inferred', true]);
});

test('OpenAI: all of a prompt is held, in steps of 128 from 1,024', () => {
  const openai = { provider: 'openai', model: 'gpt-5', cost: () => null };
  const parts = (...messages: number[]): Parts => ({
    system: [text('Instructions', 3_000)],
    messages: numbered(...messages),
  });
  const found = only([
    cacheCall({ ...openai, parts: parts(1), second: 0, usage: billed(0, 0, 13_100) }),
    cacheCall({ ...openai, parts: parts(1, 2), second: 5, usage: billed(0, 0, 23_000) }),
  ]);
  assert.equal(
    [found.cause, found.expected_tokens, found.lost_usd, found.before?.ttl],
    ['unexplained', 13_056, null, null],
  );
  healthy([
    cacheCall({ ...openai, parts: { messages: [text('short', 1_000)] }, second: 0, usage: billed(0, 0, 1_000) }),
    cacheCall({
      ...openai,
      parts: { messages: [text('short', 1_000), text('more', 1_000)] },
      second: 5,
      usage: billed(0, 0, 2_000),
    }),
  ]);
  const later = only([
    cacheCall({ ...openai, parts: parts(1), second: 0, usage: billed(0, 0, 13_100) }),
    cacheCall({ ...openai, parts: parts(1, 2), second: 3_700, usage: billed(0, 0, 23_000) }),
  ]);
  assert.equal([later.cause, later.ground], ['expired', 'clock']);
});

for (const [provider, model] of [
  ['gemini', 'gemini-2.5-pro'],
  ['ollama', 'llama3'],
  ['openai', 'llama-3.3-70b'],
  ['anthropic', 'glm-4.6'],
] as const)
  test(`does not say: ${model} of ${provider}`, () => {
    const calls = [
      first({ provider, model }),
      cacheCall({ provider, model, parts: NEXT, second: 5, usage: billed(0, 50_000) }),
    ];
    assert.equal(
      judged(calls).map(({ judged }) => judged),
      [false, false],
    );
  });

test('healthy: a conversation that grows', () => {
  healthy([first(), cacheCall({ parts: NEXT, second: 5, usage: billed(40_000, 10_000) })]);
});

test('healthy: large new input', () => {
  const messages = marked([...numbered(1, 2), text('a whole file', 90_000)]);
  healthy([first(), cacheCall({ parts: { ...BASE, messages }, second: 5, usage: billed(40_000, 90_000) })]);
});

test('healthy: two prefixes that alternate', () => {
  const other = (messages: Part[]): Parts => ({
    tools: [tool('Search', 'x', 9_000)],
    system: [text('Other', 9_000, '5m')],
    messages,
  });
  healthy([
    first(),
    cacheCall({ parts: other(marked(numbered(7))), second: 5, usage: billed(0, 28_000) }),
    cacheCall({ parts: NEXT, second: 10, usage: billed(40_000, 10_000) }),
    cacheCall({ parts: other(marked(numbered(7, 8))), second: 15, usage: billed(28_000, 10_000) }),
    cacheCall({
      parts: { ...BASE, messages: marked(numbered(1, 2, 3, 4)) },
      second: 20,
      usage: billed(50_000, 10_000),
    }),
  ]);
});

test('healthy: a sub-agent begins, with some of the same tools, in a thread of its own or not', () => {
  const agent: Parts = {
    tools: [TOOLS[0] as Part, TOOLS[2] as Part],
    system: [text('You explore.', 3_000, '5m')],
    messages: marked(numbered(9)),
  };
  for (const lane of ['agent-1', ''])
    healthy([
      first(),
      cacheCall({ parts: agent, second: 5, lane, usage: billed(0, 22_000) }),
      cacheCall({ parts: NEXT, second: 10, usage: billed(40_000, 10_000) }),
    ]);
});

test('healthy: two calls at once, of which neither can read what the other writes', () => {
  const ended_at = '2026-07-27T09:00:40.000Z';
  healthy([first({ ended_at }), cacheCall({ parts: NEXT, second: 2, usage: billed(0, 50_000) })]);
});

test('healthy: the end of the history is dropped', () => {
  healthy([
    first({ parts: { ...BASE, messages: marked(numbered(1)) }, usage: billed(0, 30_000) }),
    cacheCall({ parts: BASE, second: 5, usage: billed(30_000, 10_000) }),
    cacheCall({
      parts: { ...BASE, messages: marked([...numbered(1), text('another way', 500)]) },
      second: 9,
      usage: billed(30_000, 500),
    }),
  ]);
});

test('healthy: a change behind the last mark', () => {
  const parts = (last: string): Parts => ({ ...BASE, messages: [...marked(numbered(1)), text(last, 5_000)] });
  healthy([
    first({ parts: parts('now it is 9:00'), usage: billed(0, 30_000, 5_000) }),
    cacheCall({ parts: parts('now it is 9:05'), second: 5, usage: billed(30_000, 0, 5_000) }),
  ]);
});

test('healthy: first calls, and calls without marks', () => {
  healthy([first()]);
  healthy([first(), cacheCall({ parts: { messages: numbered(4) }, second: 5, usage: billed(0, 0, 10_000) })]);
  const bare = (...numbers: number[]): Parts => ({ tools: TOOLS, messages: numbered(...numbers) });
  healthy([
    first({ parts: bare(1), usage: billed(0, 0, 25_000) }),
    cacheCall({ parts: bare(1, 2), second: 5, usage: billed(0, 0, 35_000) }),
  ]);
});

test('healthy: a compaction that reads tools and instructions', () => {
  const messages = marked([text('Summary of the conversation', 3_000)]);
  healthy([first(), cacheCall({ parts: { ...BASE, messages }, second: 60, seam: true, usage: billed(20_000, 3_000) })]);
});

test('healthy: a side call of the same model with the last message alone', () => {
  healthy([
    first(),
    cacheCall({
      parts: { system: [text('Write a title', 200)], messages: numbered(2) },
      second: 5,
      lane: 'shadow:title',
      usage: billed(0, 0, 10_200),
    }),
    cacheCall({ parts: NEXT, second: 9, usage: billed(40_000, 10_000) }),
  ]);
});

test('healthy: a few tokens less than expected, and a call that nobody billed', () => {
  healthy([first(), cacheCall({ parts: NEXT, second: 5, usage: billed(39_000, 11_000) })]);
  const verdicts = judged([
    first({ usage: null }),
    cacheCall({ parts: NEXT, second: 5, usage: billed(0, 50_000) }),
    cacheCall({ parts: { ...BASE, messages: marked(numbered(1, 2, 3, 4)) }, second: 9, usage: billed(50_000, 10_000) }),
  ]);
  assert.equal(
    verdicts.map((one) => one.break),
    [null, null, null],
  );
});

test('2,000 calls of 1,000 blocks within seconds', () => {
  const parts = (n: number): Parts => ({ ...BASE, messages: numbered(...Array.from({ length: n }, (_, i) => i)) });
  const whole = cacheCall({ parts: parts(1_995), second: 0, usage: billed(0, 40_000) });
  const calls = Array.from({ length: 2_000 }, (_, i): CacheCall => {
    const end = Math.min(1_000, 5 + i);
    const from = Math.max(0, i - 995); // beyond 1,000 blocks the oldest messages are dropped
    const blocks = [...whole.prompt.blocks.slice(0, 5), ...whole.prompt.blocks.slice(5 + from, from + end)];
    return {
      ...whole,
      raw_turn_id: i,
      at: new Date(Date.UTC(2026, 6, 27) + i * 5_000).toISOString(),
      ended_at: null,
      prompt: {
        ...whole.prompt,
        blocks: blocks.map((block, n) => (n === blocks.length - 1 ? { ...block, mark: '5m' as const } : block)),
      },
      tokens: blocks.map(() => 100),
    };
  });
  const begun = performance.now();
  judged(calls);
  assert.ok(performance.now() - begun < 12_000, `${performance.now() - begun} ms`);
});

test.run();
