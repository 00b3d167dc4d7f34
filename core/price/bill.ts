/** The cost of a call's tokens at given rates. Only here are tokens multiplied by prices, wherever the prices come from. */
import type { CostPart } from '../model/stats-series.ts';
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

/** What was paid for each kind of token, exactly; `output` without reasoning. Together they are the cost: no part is rounded. */
export type ExactCostParts = Record<CostPart, Usd>;

/** The rates that were applied, in USD per million tokens, as decimal texts. Reasoning is billed as output. */
export type AppliedRates = Record<Exclude<CostPart, 'reasoning'>, string>;

export type Bill = { usd: Usd; parts: ExactCostParts; rates: AppliedRates };

/**
 * The cost of all tokens, each billed once. A kind without a price of its own is billed as plain input, a cache write of one hour as
 * one of five minutes; some providers' cache writes are multiples of the input price instead.
 */
export function tokenBill(provider: string, usage: Usage, configured: ConfiguredRates): Bill {
  const { input, output, cache_read = input } = configured;
  const multiples = multiplesOf(provider);
  const write5m = configured.cache_write ?? (multiples ? timesDecimal(input, multiples.for5m) : input);
  const write1h = configured.cache_write_1h ?? (multiples ? timesDecimal(input, multiples.for1h) : write5m);
  const rates = { fresh: input, cache_read, cache_write_5m: write5m, cache_write_1h: write1h, output };
  const parts: ExactCostParts = { ...partsBefore(usage, rates), output: usdOf(spokenTokens(usage), output) };
  return { usd: sumOf(parts), parts, rates };
}

/** The parts of a cost that is known, at the rates that were applied: `output` is what the others leave, so it has the fees of hosted tools too. */
export function partsOf(usage: Usage, rates: AppliedRates, usd: Usd): ExactCostParts {
  const parts = partsBefore(usage, rates);
  return { ...parts, output: addUsd(usd, negative(sumOf({ ...parts, output: '0' }))) };
}

function partsBefore(usage: Usage, rates: AppliedRates): Omit<ExactCostParts, 'output'> {
  const cached = usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
  return {
    fresh: usdOf(Math.max(0, usage.input_tokens - cached), rates.fresh),
    cache_read: usdOf(usage.cache_read_tokens, rates.cache_read),
    cache_write_5m: usdOf(usage.cache_write_5m_tokens, rates.cache_write_5m),
    cache_write_1h: usdOf(usage.cache_write_1h_tokens, rates.cache_write_1h),
    reasoning: usdOf(usage.output_tokens - spokenTokens(usage), rates.output),
  };
}

/** Output without reasoning; a provider may report more reasoning than output. */
const spokenTokens = ({ output_tokens, reasoning_tokens }: Usage): number =>
  Math.max(0, output_tokens - reasoning_tokens);

/** A bill at a multiple of its rates. */
export const timesBill = ({ usd, parts, rates }: Bill, multiple: string): Bill => ({
  usd: timesDecimal(usd, multiple),
  parts: eachTimes(parts, multiple),
  rates: eachTimes(rates, multiple),
});

const eachTimes = <Amounts extends Record<string, string>>(amounts: Amounts, multiple: string): Amounts =>
  Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [name, timesDecimal(amount, multiple)]),
  ) as Amounts;

/** A bill with something besides tokens, which the answer caused: it counts as output. */
export const withOutput = ({ usd, parts, rates }: Bill, more: Usd): Bill => ({
  usd: addUsd(usd, more),
  parts: { ...parts, output: addUsd(parts.output, more) },
  rates,
});

/** Most calls have two kinds of token or three: what is 0 is not added. */
const sumOf = (parts: ExactCostParts): Usd =>
  Object.values(parts)
    .filter((usd) => usd !== '0')
    .reduce(addUsd, '0');

const negative = (usd: Usd): Usd => timesDecimal(usd, '-1');
