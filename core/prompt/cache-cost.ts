/** What a break cost, and what the cache saved: differences of two bills at one price row, exact until they become numbers. */
import type { Usage } from '../model/usage.ts';
import { addUsd, timesDecimal, type Usd } from '../price/money.ts';

type Priced = { usage: Usage; cost: (usage: Usage) => Usd | null };

/** What the call cost more than if so many of its tokens had been read from the cache. Written ones stand ahead of fresh ones, and those of one hour first. */
export function lostUsd({ usage, cost }: Priced, tokens: number): number | null {
  const for1h = Math.min(tokens, usage.cache_write_1h_tokens);
  const for5m = Math.min(tokens - for1h, usage.cache_write_5m_tokens);
  const asRead = {
    ...usage,
    cache_read_tokens: usage.cache_read_tokens + tokens, // what is neither read nor written is billed as plain input
    cache_write_1h_tokens: usage.cache_write_1h_tokens - for1h,
    cache_write_5m_tokens: usage.cache_write_5m_tokens - for5m,
  };
  return difference(cost(usage), cost(asRead));
}

/** What the read tokens would have cost as plain input, less what they cost. */
export const savedUsd = ({ usage, cost }: Priced): Usd | null =>
  exactly(cost({ ...usage, cache_read_tokens: 0 }), cost(usage));

/** What it would have cost more to write so many of its tokens for one hour in place of five minutes. */
export function longerUsd({ usage, cost }: Priced, tokens: number): number | null {
  const moved = Math.min(tokens, usage.cache_write_5m_tokens);
  const for1h = {
    ...usage,
    cache_write_5m_tokens: usage.cache_write_5m_tokens - moved,
    cache_write_1h_tokens: usage.cache_write_1h_tokens + moved,
  };
  return difference(cost(for1h), cost(usage));
}

const exactly = (one: Usd | null, other: Usd | null): Usd | null =>
  one === null || other === null ? null : addUsd(one, timesDecimal(other, '-1'));

const difference = (one: Usd | null, other: Usd | null): number | null => {
  const usd = exactly(one, other);
  return usd === null ? null : Number(usd);
};
