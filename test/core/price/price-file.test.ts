import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OperatorError } from '../../../core/errors.ts';
import { noUsage } from '../../../core/model/usage.ts';
import { parsePriceTable, pricesWith } from '../../../core/price/price-file.ts';
import { type PriceOf, priceOf } from '../../../core/price/prices.ts';
import { anthropicTerms } from '../../support/terms.ts';

const test = suite('price-file');
const AT = '2026-07-27T21:32:31.641067Z';
const MILLION = { ...noUsage, input_tokens: 1_000_000 };
const ALL = {
  ...noUsage,
  input_tokens: 10_000, // 1,000 plain
  output_tokens: 500,
  cache_read_tokens: 6_000,
  cache_write_5m_tokens: 2_000,
  cache_write_1h_tokens: 1_000,
};
const nothing: PriceOf = () => null;

const prices = (file: unknown, otherwise: PriceOf = nothing) =>
  pricesWith(parsePriceTable(JSON.stringify(file)), otherwise);

/** Why a text is refused, without the words that all refusals begin with; '' when it is accepted. */
function refusal(text: string): string {
  try {
    parsePriceTable(text);
    return '';
  } catch (error) {
    assert.instance(error, OperatorError);
    assert.is((error as OperatorError).exitCode, 2);
    return (error as OperatorError).message.replace('Cannot use pricing.file:', '').trim();
  }
}
const wrong = (file: unknown) => refusal(JSON.stringify(file));

test('each kind of token costs what its row says', () => {
  const row = { input: 1, output: 4, cache_read: 0.125, cache_write: '1.50', cache_write_1h: 2.5 };
  // 1,000 × 1 + 6,000 × 0.125 + 2,000 × 1.5 + 1,000 × 2.5 + 500 × 4 = 1,000 + 750 + 3,000 + 2,500 + 2,000
  assert.equal(prices({ 'House-Model': row })('openai', 'house-model', AT, ALL), {
    usd: '0.00925',
    parts: {
      fresh: '0.001',
      cache_read: '0.00075',
      cache_write_5m: '0.003',
      cache_write_1h: '0.0025',
      output: '0.002',
      reasoning: '0',
    },
    price: {
      model: 'House-Model',
      source: 'pricing.file',
      date: '',
      rates: { fresh: '1', cache_read: '0.125', cache_write_5m: '1.50', cache_write_1h: '2.5', output: '4' },
    },
  });
});
test('what a row leaves out costs what input costs, or Anthropic’s multiples of it', () => {
  const price = prices({ m: { input: 2, output: 10 }, w: { input: 2, output: 10, cache_write: 3 } });
  const cost = (provider: string, model: string) => price(provider, model, AT, ALL)?.usd;
  assert.is(cost('openai', 'm'), '0.025'); // 10,000 × 2 + 500 × 10
  assert.is(cost('anthropic', 'm'), '0.028'); // 7,000 × 2 + 2,000 × 2.5 + 1,000 × 4 + 500 × 10
  assert.is(cost('openai', 'w'), '0.028'); // 7,000 × 2 + 2,000 × 3 + 1,000 × 3 + 500 × 10
  assert.is(cost('anthropic', 'w'), '0.029'); // 7,000 × 2 + 2,000 × 3 + 1,000 × 4 + 500 × 10
});
test('a row goes before the built-in list, and the list serves the rest', () => {
  const price = prices({ 'gpt-4o': { input: 1, output: 1 } }, priceOf);
  assert.is(price('openai', 'gpt-4o', AT, MILLION)?.usd, '1');
  assert.equal(price('openai', 'gpt-4o-mini', AT, MILLION), priceOf('openai', 'gpt-4o-mini', AT, MILLION));
  assert.is(price('openai', 'nonsense', AT, MILLION), null);
});
test('a price of 0 is known, not unknown', () => {
  const price = prices({ 'qwen3:8b': { input: 0, output: 0, provider: 'ollama' } }, priceOf);
  assert.is(price('ollama', 'qwen3:8b', AT, ALL)?.usd, '0');
  assert.is(price('openai', 'qwen3:8b', AT, ALL), null);
  assert.is(price('ollama', 'llama3.2', AT, ALL), null);
});
test('rows of a model hold from midnight of their day, and before the first the list does', () => {
  const price = prices(
    {
      'gpt-4o': [
        { input: 7, output: 7, since: '2026-07-01' },
        { input: 9, output: 9, since: '2026-06-01' },
      ],
    },
    priceOf,
  );
  const at = (instant: string) => price('openai', 'gpt-4o', instant, MILLION);
  assert.is(at('2026-05-31T23:59:59.999999Z')?.usd, '2.5');
  assert.equal([at('2026-06-01T00:00:00.000000Z')?.usd, at('2026-06-30T23:59:59.999999Z')?.usd], ['9', '9']);
  const { usd, price: row } = at('2026-07-01T00:00:00.000000Z') ?? {};
  assert.equal([usd, row?.model, row?.source, row?.date], ['7', 'gpt-4o', 'pricing.file', '2026-07-01']);
});
test('a row for the provider goes before a later one for any', () => {
  const price = prices({
    m: [
      { input: 1, output: 1 },
      { input: 2, output: 2, provider: 'openai' },
      { input: 3, output: 3, since: '2026-07-01' },
    ],
  });
  assert.is(price('openai', 'm', AT, MILLION)?.usd, '2');
  assert.is(price('ollama', 'm', AT, MILLION)?.usd, '3');
  assert.is(price('ollama', 'm', '2026-01-01T00:00:00.000000Z', MILLION)?.usd, '1');
});
test('the exact name is found first, then the name without the day of a snapshot and the sign of the long context', () => {
  const price = prices({
    'claude-x': { input: 1, output: 1 },
    'claude-x-20260101': { input: 2, output: 2 },
    'claude-x[1m]': { input: 3, output: 3 },
    'later-x-2026-01-01': { input: 4, output: 4, since: '2027-01-01' },
    'later-x': { input: 5, output: 5 },
  });
  for (const [model, usd] of [
    ['Claude-X', '1'],
    ['claude-x-20260202', '1'],
    ['claude-x-2026-02-02', '1'],
    ['claude-x-20260101', '2'],
    ['claude-x-20260101[1m]', '3'],
    ['claude-x-20260202[1M]', '3'],
    ['later-x-2026-01-01', '5'], // whose own row has not begun
    ['claude-x-1', undefined],
    ['claude-x-latest', undefined],
    ['', undefined],
    ['constructor', undefined],
  ] as const) {
    assert.is(price('anthropic', model, AT, MILLION)?.usd, usd, model);
  }
});
test('a row holds on whatever terms, unless another model had a part in the call', () => {
  const price = prices({ 'claude-opus-5': { input: 1, output: 1 } }, priceOf);
  const on = (usage: unknown) => price('anthropic', 'claude-opus-5', AT, MILLION, anthropicTerms(usage));
  assert.is(on({ speed: 'fast', service_tier: 'priority' })?.usd, '1');
  assert.is(on({ iterations: [{ type: 'advisor_message' }] }), null);
  assert.is(price('anthropic', 'claude-opus-4-8', AT, MILLION, anthropicTerms({ speed: 'fast' })), null);
});
test('a table is plain JSON that reads the same again', () => {
  const table = parsePriceTable('\uFEFF{"m": {"input": 5e-7, "output": "0.10"}, "n": [{"input": 1, "output": 0}]}');
  assert.equal(table, { m: [{ input: '0.0000005', output: '0.10' }], n: [{ input: '1', output: '0' }] });
  assert.equal(parsePriceTable(JSON.stringify(table)), table);
  assert.is(pricesWith(table, nothing)('openai', 'm', AT, MILLION)?.usd, '0.0000005');
  assert.equal(parsePriceTable('{}'), {});
});
test('a typo is refused with its place, and prices nothing', () => {
  assert.is(
    wrong({ 'gpt-4.1': { input: 1, output: 2, cached_read: 0.1 } }),
    "'gpt-4.1', 'cached_read': there is no such key; known are input, output, cache_read, cache_write, cache_write_1h, since, provider",
  );
  assert.is(wrong({ m: { input: 1 } }), "'m', output: is missing");
  const notBetween = 'must be USD per million tokens, a number from 0 to 1000000';
  for (const output of [-1, null, '', '1e3', '$1', '-1', 1_000_001, 1e-300, '9999999', true, [1]]) {
    assert.is(wrong({ m: [{ input: 1, output }] }), `'m', row 1, output: ${notBetween}`, JSON.stringify(output));
  }
  assert.is(refusal('{"m": {"input": 1e999, "output": 1}}'), `'m', input: ${notBetween}`);
  for (const since of ['2026-02-30', '2026-7-1', '2026-07-01T00:00:00Z', 20260701]) {
    assert.is(wrong({ m: { input: 1, output: 1, since } }), "'m', since: must be a day such as '2026-07-01'");
  }
  assert.is(
    wrong({ m: { input: 1, output: 1, provider: 'acme' } }),
    "'m', provider: must be one of anthropic, gemini, openai, ollama",
  );
  assert.is(wrong({ m: [] }), "'m': must have at least one row");
  assert.is(wrong({ m: 3 }), `'m': must be a row such as {"input": 3, "output": 15}`);
  assert.is(wrong({ m: [[]] }), `'m', row 1: must be a row such as {"input": 3, "output": 15}`);
  for (const file of [[], null, 3, 'm']) {
    assert.is(wrong(file), 'the file: must be an object with a row, or a list of rows, for each model');
  }
});
test('two rows for one day and two names for one model are refused, for nobody could tell which counts', () => {
  const row = { input: 1, output: 1 };
  assert.is(wrong({ m: [row, { ...row, output: 2 }] }), "'m', row 2: holds from the same day as row 1");
  assert.is(wrong({ 'Gpt-4o': row, 'gpt-4o': row }), "'gpt-4o': is the same model as 'Gpt-4o'");
  assert.is(wrong({ ' ': row }), "' ': must name a model");
  assert.equal(Object.keys(parsePriceTable(JSON.stringify({ m: [row, { ...row, provider: 'ollama' }] }))), ['m']);
});
test('all that is wrong is said at once, the first five by name', () => {
  assert.is(wrong({ a: { input: -1, output: 1 }, b: 7 }).split('\n').length, 2);
  const lines = wrong(Object.fromEntries('abcdefg'.split('').map((name) => [name, 7]))).split('\n');
  assert.is(lines.length, 6);
  assert.equal([lines[0]?.slice(0, 7), lines[5]], ["- 'a': ", '  - and 2 more']);
});
test('what is no JSON is refused where it stops to be, and nothing of it is quoted', () => {
  assert.is(refusal('{\n  "m": {"input": 1,}\n}'), 'line 2, column 20: is not JSON');
  assert.is(refusal('{"m": SECRET}'), 'the file: is not JSON');
  assert.is(refusal('{"m":\n'), 'line 2, column 1: ends too early to be JSON');
  assert.is(refusal(''), 'line 1, column 1: ends too early to be JSON');
});
test.run();
