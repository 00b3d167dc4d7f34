import { readFileSync } from 'node:fs';
import { findProvider } from '@pydantic/genai-prices';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ordinaryTerms, type Terms } from '../../../core/model/terms.ts';
import { noUsage } from '../../../core/model/usage.ts';
import { priceOf } from '../../../core/price/prices.ts';
import { anthropicTerms } from '../../support/terms.ts';

const test = suite('prices');
const AT = '2026-07-27T21:32:31.641067Z';
const SOURCE = 'genai-prices 0.1.8';
const MILLION = { ...noUsage, input_tokens: 1_000_000 };

const onTerms = (terms: Partial<Terms>): Terms => ({ ...ordinaryTerms, ...terms });

test('claude-sonnet-4-5: 3 in, 15 out, 0.3 read, 3.75 and 6 written, per million', () => {
  const usage = {
    ...noUsage,
    input_tokens: 10_000, // 1,000 plain
    output_tokens: 500,
    cache_read_tokens: 6_000,
    cache_write_5m_tokens: 2_000,
    cache_write_1h_tokens: 1_000,
  };
  // 1,000 × 3 + 6,000 × 0.3 + 2,000 × 3.75 + 1,000 × 6 + 500 × 15 = 3,000 + 1,800 + 7,500 + 6,000 + 7,500 = 25,800 per million
  const priced = priceOf('anthropic', 'claude-sonnet-4-5-20250929', AT, usage);
  assert.is(priced?.usd, '0.0258');
  const rates = { fresh: '3', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6', output: '15' };
  assert.equal(priced?.price, { model: 'claude-sonnet-4-5', source: SOURCE, date: '', rates });
  assert.equal(priced?.parts, {
    fresh: '0.003',
    cache_read: '0.0018',
    cache_write_5m: '0.0075',
    cache_write_1h: '0.006',
    output: '0.0075',
    reasoning: '0',
  });
});
test('claude-opus-5-5, whose cache reads are a twentieth: 4 in, 20 out, 0.2 read, 5 and 8 written', () => {
  const usage = {
    ...noUsage,
    input_tokens: 150_003, // 3 plain
    output_tokens: 1_234,
    cache_read_tokens: 140_000,
    cache_write_5m_tokens: 7_000,
    cache_write_1h_tokens: 3_000,
    reasoning_tokens: 1_000, // within the output, billed once
  };
  // 3 × 4 + 140,000 × 0.2 + 7,000 × 5 + 3,000 × 8 + 1,234 × 20 = 12 + 28,000 + 35,000 + 24,000 + 24,680 = 111,692
  const priced = priceOf('anthropic', 'claude-opus-5-5', AT, usage);
  assert.is(priced?.usd, '0.111692');
  assert.equal([priced?.parts.output, priced?.parts.reasoning], ['0.00468', '0.02']); // 234 × 20, 1,000 × 20
});
test('a cache write that the list has no price for costs a multiple of input, and the source says so', () => {
  const usage = { ...noUsage, input_tokens: 3_000, cache_write_5m_tokens: 1_000, cache_write_1h_tokens: 2_000 };
  // 1,000 × 8 × 1.25 + 2,000 × 8 × 2 = 10,000 + 32,000
  const priced = priceOf('anthropic', 'claude-2.1', AT, usage);
  assert.is(priced?.usd, '0.042');
  assert.is(priced?.price.source, `${SOURCE}, cache writes at 1.25 (5 minutes) and 2 (1 hour) times input`);
  assert.is(priceOf('anthropic', 'claude-2.1', AT, { ...noUsage, input_tokens: 3_000 })?.price.source, SOURCE);
});
test('gpt-4o-mini: 0.15 in, 0.6 out, 0.075 read, per million', () => {
  const usage = { ...noUsage, input_tokens: 1_234, output_tokens: 567, cache_read_tokens: 1_000, reasoning_tokens: 60 };
  // 234 × 0.15 + 1,000 × 0.075 + 567 × 0.6 = 35.1 + 75 + 340.2
  assert.is(priceOf('openai', 'gpt-4o-mini', AT, usage)?.usd, '0.0004503');
});
test('gpt-5.6-terra bills what it writes to its cache: 2.5 in, 15 out, 0.25 read, 3.125 written', () => {
  const usage = {
    ...noUsage,
    input_tokens: 20_000,
    output_tokens: 100,
    cache_read_tokens: 12_000,
    cache_write_5m_tokens: 4_000,
  };
  // 4,000 × 2.5 + 12,000 × 0.25 + 4,000 × 3.125 + 100 × 15 = 10,000 + 3,000 + 12,500 + 1,500
  assert.is(priceOf('openai', 'gpt-5.6-terra', AT, usage)?.usd, '0.027');
});
test('cached input that has no price of its own costs what input costs', () => {
  const usage = { ...noUsage, input_tokens: 1_000, cache_read_tokens: 900, cache_write_5m_tokens: 100 };
  assert.is(priceOf('openai', 'gpt-5-pro', AT, usage)?.usd, '0.015'); // 1,000 × 15
});
test('the price is that of the day', () => {
  const [before, after] = ['2025-06-09T23:59:59.999999Z', '2025-06-10T00:00:00.000000Z'].map((at) =>
    priceOf('openai', 'o3', at, MILLION),
  );
  assert.equal([before?.usd, before?.price.date], ['10', '']);
  assert.equal([after?.usd, after?.price.date], ['2', '2025-06-10']);
});
test('a long prompt is billed whole at the tier it reaches', () => {
  const cost = (input_tokens: number) =>
    priceOf('anthropic', 'claude-sonnet-4-5', AT, { ...noUsage, input_tokens })?.usd;
  assert.equal([cost(200_000), cost(200_001)], ['0.6', '1.200006']);
});
test('gemini-2.5-pro: 1.25 in, 10 out, 0.125 read, and twice or half as much more for a long prompt', () => {
  const cost = (input_tokens: number) =>
    priceOf('gemini', 'models/gemini-2.5-pro', AT, {
      ...noUsage,
      input_tokens,
      cache_read_tokens: 100_000,
      output_tokens: 1_000,
    });
  // 100,000 × 1.25 + 100,000 × 0.125 + 1,000 × 10 = 125,000 + 12,500 + 10,000
  assert.is(cost(200_000)?.usd, '0.1475');
  // 100,001 × 2.5 + 100,000 × 0.25 + 1,000 × 15 = 250,002.5 + 25,000 + 15,000
  assert.is(cost(200_001)?.usd, '0.2900025');
  const rates = { fresh: '1.25', cache_read: '0.125', cache_write_5m: '1.25', cache_write_1h: '1.25', output: '10' };
  assert.equal(cost(1)?.price, { model: 'gemini-2.5-pro', source: SOURCE, date: '', rates });
});
test('cached tokens count towards the tier, and all kinds of tokens cost what it says', () => {
  const cost = (plain: number) =>
    priceOf('openai', 'gpt-5.4', AT, {
      ...noUsage,
      input_tokens: 250_000 + plain,
      cache_read_tokens: 250_000,
      output_tokens: 1_000,
    })?.usd;
  // 21,999 × 2.5 + 250,000 × 0.25 + 1,000 × 15 = 54,997.5 + 62,500 + 15,000
  assert.is(cost(21_999), '0.1324975');
  // 22,000 × 5 + 250,000 × 0.5 + 1,000 × 22.5 = 110,000 + 125,000 + 22,500
  assert.is(cost(22_000), '0.2575');
});
test('a tier ends on the day that the list ends it', () => {
  const long = { ...noUsage, input_tokens: 300_000, cache_write_1h_tokens: 100_000 };
  const cost = (at: string) => priceOf('anthropic', 'claude-sonnet-4-6', at, long)?.usd;
  assert.is(cost('2026-03-12T23:59:59.999999Z'), '2.4'); // 200,000 × 6 + 100,000 × 12
  assert.is(cost('2026-03-13T00:00:00.000000Z'), '1.2'); // 200,000 × 3 + 100,000 × 6
});
test('a name may carry the day of a snapshot, an alias or the sign of the long context', () => {
  for (const [provider, model, row] of [
    ['anthropic', 'claude-opus-5[1m]', 'claude-opus-5'],
    ['anthropic', 'claude-sonnet-4-5-20250929[1m]', 'claude-sonnet-4-5'],
    ['anthropic', 'claude-sonnet-5-20260701', 'claude-sonnet-5'],
    ['anthropic', 'claude-opus-4-20250514', 'claude-opus-4-0'],
    ['anthropic', 'claude-3-5-haiku-latest', 'claude-3-5-haiku-latest'],
    ['anthropic', 'claude-sonnet-4@20250514', 'claude-sonnet-4-0'],
    ['openai', ' GPT-4o ', 'gpt-4o'],
    ['openai', 'gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'], // dearer than the other snapshots
    ['openai', 'gpt-5-chat-latest', 'gpt-5'],
    ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::abc', 'ft:gpt-4o-mini'],
  ] as const) {
    assert.is(priceOf(provider, model, AT, MILLION)?.price.model, row, model);
  }
});
test('what the list lacks is unpriced, never free', () => {
  const usage = { ...noUsage, input_tokens: 5, output_tokens: 5 };
  for (const [provider, model] of [
    ['openai', 'nonsense'],
    ['openai', ''],
    ['openai', '[1m]'],
    ['openai', 'text-embedding-3-small'], // known, but without a price for output
    ['openai', 'omni-moderation-latest'], // known, without any price
    ['openai', 'gpt-4o-2026-01-01'], // a snapshot may cost otherwise
    ['openai', 'ft:gpt-4o-mini:acme::abc'], // of which snapshot?
    ['openai', 'openai/gpt-4o'], // a reseller's name
    ['openai', 'claude-sonnet-4-5'], // another provider's model
    ['openai', 'gpt-oss-20b'], // open weights, sold by others
    ['openai', 'gpt-4o-search-preview'], // a fee for each call
    ['anthropic', 'anthropic/claude-sonnet-4.5'],
    ['anthropic', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['anthropic', 'claude-sonnet-5-5'], // begins like one that is known
    ['anthropic', 'claude-haiku-4-5-1-20270101'],
    ['anthropic', 'gpt-4o'],
    ['gemini', 'gemini-99-pro'],
    ['gemini', 'gpt-4o'],
    ['nobody', 'zzz'],
    ['', 'gpt-4o-mini-of-mine'],
  ] as const) {
    assert.is(priceOf(provider, model, AT, usage), null, `${provider} ${model}`);
  }
});
test('a model at home is never priced as a hosted one of its name', () => {
  const names = ['llama3.2', 'gpt-oss:20b', 'gpt-oss-20b', 'qwen3:8b', 'deepseek-r1:8b', 'mistral', 'gemma3', 'gpt-4o'];
  for (const model of names) assert.is(priceOf('ollama', model, AT, MILLION), null, model);
});
test('searches that the provider ran cost their price apiece', () => {
  const usage = { ...noUsage, input_tokens: 1_000, output_tokens: 100 };
  // 1,000 × 5 + 100 × 25 = 7,500 per million; 3 × 10 / 1,000
  const terms = anthropicTerms({
    server_tool_use: { web_search_requests: 3, web_fetch_requests: 7 },
    service_tier: 'standard',
  });
  assert.is(priceOf('anthropic', 'claude-opus-5', AT, usage, terms)?.usd, '0.0375');
  assert.is(priceOf('anthropic', 'claude-3-haiku', AT, usage, terms), null); // for which it has no such price
});
test('searches in files that the provider holds cost their price apiece, beside those of the web', () => {
  const cost = (model: string, terms: Partial<Terms>) => priceOf('openai', model, AT, MILLION, onTerms(terms));
  const searched = cost('gpt-4.1', { file_searches: 3, web_searches: 1 });
  // 2 + 3 × 2.5 / 1,000 + 10 / 1,000
  assert.equal([searched?.usd, searched?.parts.fresh, searched?.parts.output], ['2.0175', '2', '0.0175']);
  assert.is(cost('o1', { file_searches: 1 }), null); // for which the list has no such price
});
test('a web search by the preview costs 25 USD per 1,000 where the terms tell it apart, and the source says so', () => {
  const cost = (preview_searches: number) =>
    priceOf('openai', 'gpt-4.1', AT, MILLION, onTerms({ web_searches: 2, preview_searches }));
  // https://platform.openai.com/docs/pricing: 2 + 2 × 10 / 1,000; 2 + 2 × 25 / 1,000
  assert.equal([cost(0)?.usd, cost(2)?.usd], ['2.02', '2.05']);
  assert.equal(
    [cost(0)?.price.source, cost(2)?.price.source],
    [SOURCE, `${SOURCE}, web search previews at 25 per 1,000`],
  );
});
test('inference in the US costs 1.1 times the tokens, and the source says so', () => {
  const terms = onTerms({ inference_geo: 'us', web_searches: 1 });
  const priced = priceOf('anthropic', 'claude-opus-5', AT, MILLION, terms);
  assert.is(priced?.usd, '5.51'); // 5 × 1.1 + 10 / 1,000
  assert.is(priced?.price.source, `${SOURCE}, inference in the US at 1.1`);
  assert.equal([priced?.parts.fresh, priced?.parts.output], ['5.5', '0.01'], 'a search counts as output');
  assert.is(priced?.price.rates.fresh, '5.5');
});
test('ordinary terms are the list price, others none', () => {
  const cost = (terms: Partial<Terms>) => priceOf('anthropic', 'claude-opus-5', AT, MILLION, onTerms(terms))?.usd;
  const ordinary = { service_tier: 'standard', speed: 'standard', inference_geo: 'global' };
  for (const terms of [{}, ordinary, { service_tier: 'default' }, { inference_geo: 'not_available' }]) {
    assert.is(cost(terms), '5', JSON.stringify(terms));
  }
  for (const terms of [
    ...['priority', 'batch', 'flex', 'scale', 'grounded_by_search', 'grounded_by_maps'].map((service_tier) => ({
      service_tier,
    })),
    { speed: 'fast' },
    { inference_geo: 'atlantis' },
    { unlisted_fees: true },
    { audio_tokens: 1 },
    { other_models: true },
  ]) {
    assert.is(cost(terms), undefined, JSON.stringify(terms));
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
test('the installed list is of the shape that we price by', () => {
  assert.is(findProvider({ providerId: 'ollama' }), undefined);
  for (const id of ['anthropic', 'openai']) {
    const { models = [], fallback_model_providers } = findProvider({ providerId: id }) ?? {};
    assert.ok(models.length > 20, id);
    assert.is(fallback_model_providers, undefined, `${id} borrows no prices of another provider`);
    for (const { id: model, prices } of models) {
      assert.not.throws(() => priceOf(id, model, AT, MILLION), undefined, model);
      const rows = Array.isArray(prices) ? prices : [{ prices }];
      const begins = rows.map((row) => ('constraint' in row ? row.constraint : undefined));
      assert.is(begins[0], undefined, `${model}: the first row holds for all that was before`);
      assert.ok(
        begins.slice(1).every((constraint) => constraint?.type === 'start_date'),
        `${model}: no price of the hour`,
      );
      for (const rate of rows.flatMap((row) => Object.values(row.prices))) {
        if (typeof rate !== 'object') continue;
        const starts = rate.tiers.map(({ start }) => start);
        assert.equal(
          starts,
          starts.toSorted((a, b) => a - b),
          `${model}: tiers ascend`,
        );
      }
    }
  }
});
test.run();
