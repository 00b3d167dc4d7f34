/** The cost of a call's tokens at given rates. Only here are tokens multiplied by prices, wherever the prices come from. */
import type { Usage } from '../model/usage.ts';
import { providerNamed } from '../provider/providers.ts';
import { addUsd, timesDecimal, type Usd, usdOf } from './money.ts';

/** A list's rates for a model, in USD per million tokens, as decimal texts: input, output, and the kinds that the list prices apart. */
export type ConfiguredRates = {
  input: string;
  output: string;
  cache_read?: string | undefined;
  cache_write?: string | undefined; // of 5 minutes, or of no stated age
  cache_write_1h?: string | undefined;
};

/** The multiples of the input price that replace the prices of cache writes which were used and have none; null: none is replaced. */
export const multiplesUsed = (
  provider: string,
  usage: Usage,
  rates: ConfiguredRates,
): { for5m: string; for1h: string } | null =>
  (usage.cache_write_5m_tokens > 0 && rates.cache_write === undefined) ||
  (usage.cache_write_1h_tokens > 0 && rates.cache_write_1h === undefined)
    ? multiplesOf(provider)
    : null;

const multiplesOf = (provider: string) => providerNamed(provider)?.pricing.cacheWrites ?? null;

/**
 * The cost of all tokens, each billed once. A kind without a price of its own is billed as plain input, a cache write of one hour as
 * one of five minutes; some providers' cache writes are multiples of the input price instead.
 */
export function tokenBill(provider: string, usage: Usage, rates: ConfiguredRates): Usd {
  const { input, output, cache_read = input } = rates;
  const multiples = multiplesOf(provider);
  const write5m = rates.cache_write ?? (multiples ? timesDecimal(input, multiples.for5m) : input);
  const write1h = rates.cache_write_1h ?? (multiples ? timesDecimal(input, multiples.for1h) : write5m);
  const cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
  return [
    usdOf(Math.max(0, usage.input_tokens - cached), input),
    usdOf(usage.cache_read_tokens, cache_read),
    usdOf(usage.cache_write_5m_tokens, write5m),
    usdOf(usage.cache_write_1h_tokens, write1h),
    usdOf(usage.output_tokens, output),
  ].reduce(addUsd);
}
