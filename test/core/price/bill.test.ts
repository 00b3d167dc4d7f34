import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { partsOf, timesBill, tokenBill, withOutput } from '../../../core/price/bill.ts';
import { addUsd } from '../../../core/price/money.ts';

const test = suite('bill');

const tokens = fc.oneof(fc.constant(0), fc.nat(2_000_000));
const usage = fc.record({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_tokens: tokens,
  cache_write_5m_tokens: tokens,
  cache_write_1h_tokens: tokens,
  reasoning_tokens: tokens, // may exceed the output
});
const rate = fc.constantFrom('0', '0.15', '3', '3.75', '0.000001', '12.5');
const rates = fc.record(
  { input: rate, output: rate, cache_read: rate, cache_write: rate, cache_write_1h: rate },
  { requiredKeys: ['input', 'output'] },
);
const sum = (parts: Record<string, string>) => Object.values(parts).reduce(addUsd, '0');

test('the parts are the cost, to the last decimal, whatever was used, at a multiple and with searches', () => {
  fc.assert(
    fc.property(fc.constantFrom('anthropic', 'openai'), usage, rates, (provider, usage, rates) => {
      const plain = tokenBill(provider, usage, rates);
      const bills = [plain, timesBill(plain, '1.1'), withOutput(timesBill(plain, '1.1'), '0.03')];
      for (const { usd, parts } of bills) assert.is(sum(parts), addUsd(usd, '0'));
    }),
  );
});

test('what is stored of a call gives its parts again', () => {
  fc.assert(
    fc.property(fc.constantFrom('anthropic', 'openai'), usage, rates, (provider, usage, rates) => {
      const bill = withOutput(timesBill(tokenBill(provider, usage, rates), '1.1'), '0.03');
      assert.equal(partsOf(usage, bill.rates, bill.usd), bill.parts);
    }),
  );
});

test.run();
