import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { barCells, billedParts, cellAt } from '../../../../../../../core/web/client/pages/session/context/bar-cells.ts';
import { entriesOf } from '../../../../../../../core/web/client/pages/session/context/block-changes.ts';
import { callContext, contextBlock } from '../../../../../../support/call-contexts.ts';

const test = suite('the bar of a context');

const context = callContext([contextBlock(0, { tokens: 25 }), contextBlock(1, { tokens: 50 })]);
const usage = context.usage && { ...context.usage, input_tokens: 100 };

test('each block is as wide as its share, and what no block explains is left over', () => {
  const cells = barCells({ ...context, usage }, entriesOf(context));
  assert.equal(
    cells.map(({ from, to }) => [from, to]),
    [
      [0, 0.25],
      [0.25, 0.75],
    ],
  );
  assert.equal(
    [0, 0.3, 0.9].map((place) => cellAt(cells, place)),
    [0, 1, 1],
  );
  assert.is(cellAt([], 0.5), -1);
});

test('the input is read, written, and what is left is fresh', () => {
  const billed = usage && { ...usage, cache_read_tokens: 60, cache_write_5m_tokens: 10, cache_write_1h_tokens: 20 };
  assert.equal(billedParts({ usage: billed }), [
    { as: 'read', tokens: 60, from: 0, to: 0.6 },
    { as: 'written', tokens: 30, from: 0.6, to: 0.9 },
    { as: 'fresh', tokens: 10, from: 0.9, to: 1 },
  ]);
  assert.equal(billedParts({ usage: null }), []);
});

test.run();
