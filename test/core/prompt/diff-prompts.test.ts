/** The difference of two prompts: applied to the first it gives the second, and it names what changed, to the character. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { diffPrompts, sameBlock } from '../../../core/prompt/diff-prompts.ts';
import type { PromptBlock } from '../../../core/prompt/prompt.ts';
import { appliedChanges } from '../../support/applied-changes.ts';
import { promptIn } from '../../support/prompt-of.ts';

const test = suite('diffPrompts');

const tool = (name: string, description: string) => ({ name, description, input_schema: { type: 'object' } });
const claude = (request: object): readonly PromptBlock[] =>
  promptIn('anthropic.messages', { model: 'm', messages: [], ...request }).blocks;
const words = (...texts: string[]) => [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }];

test('a tool whose description changed is named by its path and the first character that differs', () => {
  const [before, after] = ['Today is Fri', 'Today is Sat'].map((date) =>
    claude({ tools: [tool('Read', 'reads'), tool('Bash', date)], messages: words('hello') }),
  );
  assert.equal(diffPrompts(before ?? [], after ?? []), {
    common: 1,
    changes: [{ op: 'change', before: 1, after: 1, path: 'tools[1].description', at: 9 }],
  });
});

test('what was added, removed and moved', () => {
  const before = claude({ tools: [tool('A', 'a'), tool('B', 'b'), tool('C', 'c')], messages: words('one', 'two') });
  const after = claude({
    tools: [tool('C', 'c'), tool('A', 'a'), tool('B', 'b')],
    messages: words('one', 'two', 'three'),
  });
  assert.equal(diffPrompts(before, after).changes, [
    { op: 'move', before: 2, after: 0 },
    { op: 'add', after: 5 },
  ]);
  assert.equal(diffPrompts(after, before).changes, [
    { op: 'move', before: 0, after: 2 },
    { op: 'remove', before: 5 },
  ]);
});

test('neither a cache mark nor a text in an object of its own is a change', () => {
  const plain = claude({ system: 'be brief', messages: [{ role: 'user', content: 'hello' }] });
  const marked = claude({
    system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral' } }] }],
  });
  assert.equal(diffPrompts(plain, marked), { common: 2, changes: [] });
  assert.equal(
    marked.map(({ mark }) => mark),
    ['1h', '5m'],
  );
});

test('a text that changed and is in an object of its own now', () => {
  const before = claude({ messages: [{ role: 'user', content: 'hello' }] });
  const after = claude({ messages: words('help') });
  assert.equal(diffPrompts(before, after).changes, [
    { op: 'change', before: 0, after: 0, path: 'messages[0].content[0].text', at: 3 },
  ]);
});

test('the same text of another speaker is not the same block', () => {
  const [before, after] = ['user', 'assistant'].map((role) => claude({ messages: [{ role, content: 'hello' }] }));
  assert.is(diffPrompts(before ?? [], after ?? []).common, 0);
});

const block = fc.record({
  word: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
  role: fc.constantFrom('user', 'assistant'),
});
const prompt = fc
  .record({
    tools: fc.array(fc.constantFrom('A', 'B', 'C', 'D'), { maxLength: 6 }),
    blocks: fc.array(block, { maxLength: 25 }),
  })
  .map(({ tools, blocks }) =>
    claude({
      tools: tools.map((name) => tool(name, name)),
      messages: blocks.map(({ word, role }) => ({ role, content: word })),
    }),
  );

test('applied to the first, the changes give exactly the second', () => {
  fc.assert(
    fc.property(prompt, prompt, (before, after) => {
      const { common, changes } = diffPrompts(before, after);
      const applied = appliedChanges(before, after, changes);
      assert.is(applied.length, after.length);
      for (const [n, one] of applied.entries()) assert.ok(sameBlock(one, after[n] as PromptBlock), String(n));
      for (const change of changes) {
        if (change.op === 'move')
          assert.ok(sameBlock(before[change.before] as PromptBlock, after[change.after] as PromptBlock));
        if ('after' in change) assert.ok(change.after >= common);
      }
    }),
    { numRuns: 300 },
  );
});

test('3,000 blocks, all of them turned round, take no time that anyone notices', () => {
  const before = claude({
    messages: Array.from({ length: 3_000 }, (_, n) => ({ role: 'user', content: `text ${n}` })),
  });
  const began = performance.now();
  const { changes } = diffPrompts(before, [...before].reverse());
  assert.ok(performance.now() - began < 400);
  assert.is(changes.length, 2_999);
});

test.run();
