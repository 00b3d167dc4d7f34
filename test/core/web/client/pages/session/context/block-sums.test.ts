import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changeText, shareOf, sumOf } from '../../../../../../../core/web/client/pages/session/context/block-sums.ts';
import { callContext, contextBlock } from '../../../../../../support/call-contexts.ts';

const test = suite('sums of blocks');

test('a sum is as well known as the least of its parts', () => {
  const [billed, shared] = [contextBlock(0, { tokens: 5 }), contextBlock(1, { tokens: 7, basis: 'shared' })];
  const none = contextBlock(2, { tokens: null, basis: 'none' });
  assert.equal(sumOf([billed]), { blocks: 1, tokens: 5, basis: 'billed', bytes: 100 });
  assert.equal(sumOf([billed, shared]), { blocks: 2, tokens: 12, basis: 'shared', bytes: 200 });
  assert.equal(sumOf([none]), { blocks: 1, tokens: null, basis: 'none', bytes: 100 });
});

test('a share is of what was billed, and of the bytes where nothing was counted', () => {
  const blocks = [contextBlock(0, { tokens: 30, bytes: 1 }), contextBlock(1, { tokens: 50, bytes: 3 })];
  const context = callContext(blocks);
  const usage = context.usage && { ...context.usage, input_tokens: 100 }; // 20 tokens are not in the bytes
  assert.is(shareOf(sumOf(blocks.slice(0, 1)), { ...context, usage }), 0.3);
  assert.is(shareOf(sumOf(blocks.slice(1)), { ...context, usage: null }), 0.75);
  assert.is(shareOf(sumOf([]), callContext([])), 0);
});

test('changes in words', () => {
  const none = { added: 0, gone: 0, changed: 0, moved: 0 };
  assert.is(changeText(none, true), 'same');
  assert.is(changeText(none, false), '');
  assert.is(changeText({ added: 2, gone: 1, changed: 3, moved: 4 }, true), '~3 changed, +2 new, −1 gone, ↕4 moved');
});

test.run();
