import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallContext } from '../../../../../../../core/model/call-context.ts';
import { entriesOf } from '../../../../../../../core/web/client/pages/session/context/block-changes.ts';
import { callContext, contextBlock } from '../../../../../../support/call-contexts.ts';

const test = suite('the entries of a context');

type Change = NonNullable<CallContext['against']>['changes'][number];

const against = (others: number, changes: Change[]): CallContext['against'] => ({
  ...{ raw_turn_id: 1, common: 0, common_tokens: null, changes },
  blocks: Array.from({ length: others }, (_, n) => contextBlock(n)),
});

/** `3` is a block of this call, `-1` one of the other that is gone. */
const order = (context: CallContext): string[] =>
  entriesOf(context).map(
    ({ block, gone, change }) => `${block ? block.n : `-${gone?.n}`}${change ? ` ${change.op}` : ''}`,
  );

test('without another call, all blocks in their order', () => {
  assert.equal(order(callContext([contextBlock(0), contextBlock(1)])), ['0', '1']);
});

test('what is gone stands where it stood, at the beginning, between and at the end', () => {
  const context = callContext(
    [0, 1, 2].map((n) => contextBlock(n)),
    {
      // other: a b c d e f, this: b d new
      against: against(6, [
        { op: 'remove', before: 0 },
        { op: 'remove', before: 2 },
        { op: 'remove', before: 4 },
        { op: 'remove', before: 5 },
        { op: 'add', after: 2 },
      ]),
    },
  );
  assert.equal(order(context), ['-0 remove', '0', '-2 remove', '1', '-4 remove', '-5 remove', '2 add']);
});

test('a change holds its place, and a move does not draw others along', () => {
  const context = callContext(
    [0, 1, 2].map((n) => contextBlock(n)),
    {
      // other: a b c gone, this: c a b~
      against: against(4, [
        { op: 'move', before: 2, after: 0 },
        { op: 'change', before: 1, after: 2, path: 'messages[2].content[0].text', at: 3 },
        { op: 'remove', before: 3 },
      ]),
    },
  );
  assert.equal(order(context), ['0 move', '1', '2 change', '-3 remove']);
});

test.run();
