import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addUsd, compareUsd, timesDecimal, usdOf } from '../../../core/price/money.ts';

const test = suite('money');

test('tokens at a price per million', () => {
  assert.is(usdOf(1_000_000, '3'), '3');
  assert.is(usdOf(1, '0.075'), '0.000000075');
  assert.is(usdOf(1234, '3.75'), '0.0046275');
  assert.is(usdOf(0, '15'), '0');
  assert.is(usdOf(3, '5e-7'), '0.0000000000015');
  assert.is(usdOf(2, '1e2'), '0.0002');
});
test('sums are exact where floats are not', () => {
  assert.is(addUsd('0.1', '0.2'), '0.3');
  assert.is(addUsd('0.000000075', '99999999999999999999'), '99999999999999999999.000000075');
  assert.is(addUsd('0.05', '0.95'), '1');
  assert.is(timesDecimal('0.8', '1.25'), '1');
});
test('amounts compare as amounts', () => {
  assert.ok(compareUsd('0.1', '0.10') === 0 && compareUsd('2', '10') < 0 && compareUsd('0.3', '0.09') > 0);
  assert.ok(compareUsd('-1', '0') < 0);
});
test('a sum does not depend on its order, and what is no number is refused', async () => {
  const usd = fc.tuple(fc.nat(), fc.nat({ max: 999_999 })).map(([tokens, price]) => usdOf(tokens, `0.${price}`));
  await fc.assert(
    fc.property(fc.array(usd, { minLength: 1 }), (amounts) =>
      assert.is(amounts.reduce(addUsd), amounts.toReversed().reduce(addUsd)),
    ),
  );
  assert.throws(() => addUsd('NaN', '1'), /Cannot read an amount/);
});
test.run();
