/** A usage is priced once, and again where something else decides its price. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noUsage } from '../../../core/model/usage.ts';
import { pricedOnce } from '../../../core/price/priced-once.ts';
import { type PriceOf, priceOf } from '../../../core/price/prices.ts';

const test = suite('pricedOnce');

test('the prices are the same, and each is made once', () => {
  let made = 0;
  const counted: PriceOf = (...call) => {
    made++;
    return priceOf(...call);
  };
  const once = pricedOnce(counted);
  const usage = { ...noUsage, input_tokens: 1_000, output_tokens: 10 };
  const calls: Parameters<PriceOf>[] = [
    ['anthropic', 'claude-sonnet-4-5-20250929', '2026-07-27T00:00:00.000000Z', usage],
    ['anthropic', 'claude-opus-4-5-20251101', '2026-07-27T00:00:00.000000Z', usage],
    ['anthropic', 'no-such-model', '2026-07-27T00:00:00.000000Z', usage],
    ['anthropic', 'claude-sonnet-4-5-20250929', '2026-07-27T00:00:00.000000Z', { ...usage, output_tokens: 20 }],
  ];
  for (const call of calls) {
    assert.equal(once(...call), priceOf(...call));
    assert.equal(once(...call), priceOf(...call));
  }
  assert.is(made, calls.length);
});

test.run();
