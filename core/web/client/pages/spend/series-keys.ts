/** The keys of a series, as words and as filters. */
import type { StatsSeries } from '../../../../model/stats-series.ts';

const MOST_KEYS = 12;

/** The thirteenth is what the other keys come to, whatever it is named. */
const isRest = (place: number): boolean => place >= MOST_KEYS;

export const keyLabel = ({ keys }: Pick<StatsSeries, 'keys'>, place: number): string =>
  isRest(place) ? 'all others' : keys[place] || 'without one';

/** The filter of the sessions that have the key; none for what the others come to, or for a key that is empty. */
export const filtersOfKey = ({ by, keys }: Pick<StatsSeries, 'by' | 'keys'>, place: number): Record<string, string> => {
  const key = keys[place];
  return isRest(place) || !key ? {} : { [by]: key };
};
