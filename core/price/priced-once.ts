/** Prices a usage once, wherever it is needed: exact sums of a small call cost as much as the rest of its fold. */
import type { Usage } from '../model/usage.ts';
import type { Priced, PriceOf } from './prices.ts';

/** The same prices, remembered as long as the usage object lives. */
export function pricedOnce(priceOf: PriceOf): PriceOf {
  const known = new WeakMap<Usage, { key: string; priced: Priced | null }>();
  return (provider, model, at, usage, terms) => {
    const key = JSON.stringify([provider, model, at, terms]);
    const found = known.get(usage);
    if (found?.key === key) return found.priced;
    const priced = priceOf(provider, model, at, usage, terms);
    known.set(usage, { key, priced });
    return priced;
  };
}
