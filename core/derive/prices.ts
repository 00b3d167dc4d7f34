/** What did a call cost? Dated list prices of `@pydantic/genai-prices`, applied with exact decimals. Nothing is fetched. */
import { calcPrice, type ModelPrice } from '@pydantic/genai-prices';
import type { Usage } from '../model/usage.ts';
import type { Usd } from './changes.ts';
import { addUsd, timesDecimal, usdOf } from './money.ts';

/** The price row that was used. `date`: since when the row holds; '' when the list gives none. */
export type Price = { model: string; source: string; date: string };
export type Priced = { usd: Usd; price: Price };

/** Effects come in as arguments: whoever folds may bring prices of his own. */
export type PriceOf = (provider: string, model: string, at: string, usage: Usage) => Priced | null;

const SOURCE = 'genai-prices 0.1.8'; // a test compares it with the installed package
const MULTIPLES = `${SOURCE}, cache writes at 1.25 (5 minutes) and 2 (1 hour) times input`;

/**
 * The cost of one call at the list price of its instant; null when the list does not know the model, or has no price for a
 * kind of token that was used: an unknown price is never 0.
 * Tiers go by all input tokens of the call. Tokens without a price of their own kind are billed as plain input, but for
 * Anthropic's cache writes, whose multiples of the input price then apply; `source` says so.
 */
export const priceOf: PriceOf = (provider, model, at, usage) => {
  const found = model === '' ? null : calcPrice({}, model, { providerId: provider, timestamp: new Date(at) });
  if (!found) return null;
  const rate = (key: string) => rateOf(found.model_price[key], usage.input_tokens);

  const input = rate('input_mtok');
  const output = rate('output_mtok');
  if (input === null || (output === null && usage.output_tokens > 0)) return null;

  const multiples = provider === 'anthropic';
  const write5m = rate('cache_write_mtok') ?? (multiples ? timesDecimal(input, '1.25') : input);
  const write1h = rate('cache_write_1h_mtok') ?? (multiples ? timesDecimal(input, '2') : write5m);
  const guessed =
    multiples &&
    ((usage.cache_write_5m_tokens > 0 && rate('cache_write_mtok') === null) ||
      (usage.cache_write_1h_tokens > 0 && rate('cache_write_1h_mtok') === null));

  const cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
  const usd = [
    usdOf(Math.max(0, usage.input_tokens - cached), input),
    usdOf(usage.cache_read_tokens, rate('cache_read_mtok') ?? input),
    usdOf(usage.cache_write_5m_tokens, write5m),
    usdOf(usage.cache_write_1h_tokens, write1h),
    usdOf(usage.output_tokens, output ?? '0'),
  ].reduce(addUsd);
  return {
    usd,
    price: {
      model: found.model.id,
      source: guessed ? MULTIPLES : SOURCE,
      date: dateOf(found.model.prices, found.model_price),
    },
  };
};

const rateOf = (price: ModelPrice[string], inputTokens: number): string | null => {
  if (price === undefined) return null;
  if (typeof price === 'number') return String(price);
  return String(price.tiers.reduce((rate, tier) => (inputTokens > tier.start ? tier.price : rate), price.base));
};

function dateOf(prices: NonNullable<ReturnType<typeof calcPrice>>['model']['prices'], used: ModelPrice): string {
  if (!Array.isArray(prices)) return '';
  const constraint = prices.find((row) => row.prices === used)?.constraint;
  return constraint?.type === 'start_date' ? constraint.start_date : '';
}
