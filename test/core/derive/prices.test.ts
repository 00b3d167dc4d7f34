import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { priceOf } from '../../../core/derive/prices.ts';
import { noUsage } from '../../../core/model/usage.ts';

const test = suite('prices');
const AT = '2026-07-27T21:32:31.641067Z';

test('claude-sonnet-4-5: 3 in, 15 out, 0.3 read, 3.75 and 6 written, per million', () => {
  const usage = {
    ...noUsage,
    input_tokens: 10_000, // 1,000 plain
    output_tokens: 500,
    cache_read_tokens: 6_000,
    cache_write_5m_tokens: 2_000,
    cache_write_1h_tokens: 1_000,
  };
  // 0.003 + 0.0018 + 0.0075 + 0.006 + 0.0075
  const priced = priceOf('anthropic', 'claude-sonnet-4-5-20250929', AT, usage);
  assert.is(priced?.usd, '0.0258');
  assert.equal(priced?.price, { model: 'claude-sonnet-4-5', source: 'genai-prices 0.1.8', date: '' });
});
test('gpt-4o-mini: 0.15 in, 0.6 out, 0.075 read, per million', () => {
  const usage = { ...noUsage, input_tokens: 1_234, output_tokens: 567, cache_read_tokens: 1_000, reasoning_tokens: 60 };
  // 234 × 0.15 + 1,000 × 0.075 + 567 × 0.6 = 35.1 + 75 + 340.2
  assert.is(priceOf('openai', 'gpt-4o-mini', AT, usage)?.usd, '0.0004503');
});
test('the price is that of the day', () => {
  const usage = { ...noUsage, input_tokens: 1_000_000 };
  const [before, after] = ['2025-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z'].map((at) =>
    priceOf('openai', 'o3', at, usage),
  );
  assert.equal([before?.usd, before?.price.date], ['10', '']);
  assert.equal([after?.usd, after?.price.date], ['2', '2025-06-10']);
});
test('a long prompt is billed whole at the tier it reaches', () => {
  const cost = (input_tokens: number) =>
    priceOf('anthropic', 'claude-sonnet-4-5', AT, { ...noUsage, input_tokens })?.usd;
  assert.equal([cost(200_000), cost(200_001)], ['0.6', '1.200006']);
});
test('what the list lacks is unpriced, never free', () => {
  const usage = { ...noUsage, input_tokens: 5, output_tokens: 5 };
  for (const [provider, model] of [
    ['ollama', 'llama3.2'],
    ['ollama', 'gpt-oss:20b'],
    ['openai', 'nonsense'],
    ['openai', ''],
    ['openai', 'text-embedding-3-small'], // known, but without a price for output
    ['nobody', 'zzz'],
  ] as const) {
    assert.is(priceOf(provider, model, AT, usage), null, `${provider} ${model}`);
  }
});
test('more cached tokens than input tokens never cost less than nothing', () => {
  const priced = priceOf('anthropic', 'claude-sonnet-4-5', AT, {
    ...noUsage,
    input_tokens: 1,
    cache_read_tokens: 1_000,
  });
  assert.is(priced?.usd, '0.0003');
});
test('the source names the installed list', () => {
  const { version } = JSON.parse(readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8'));
  assert.is(priceOf('openai', 'gpt-4o', AT, noUsage)?.price.source, `genai-prices ${version}`);
});
test.run();
