/** The reads of the page of spend: one request of /v1/stats for each day and each key, few at a time. */
import type { Session } from '../../../../model/session.ts';
import type { Stats } from '../../../../model/stats.ts';
import { browseFacets } from '../../api/facets.ts';
import { browseSessions } from '../../api/sessions.ts';
import { readStats } from '../../api/stats.ts';
import { type DayWindow, dayAfter, daysOf, type SpendField, type SpendRow, windowBefore } from './spend-days.ts';

const AT_ONCE = 3;
const MOST_KEYS = 12;
const MOST_SESSIONS = 8;

export type Filters = Readonly<Record<string, string>>;
export type DaySpend = { day: string; stats: Stats };

/** The results in the order of the items, few under way at once. */
async function pooled<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
  onDone: (done: number) => void = () => {},
): Promise<Result[]> {
  const results = new Map<number, Result>();
  const queue = items.map((item, i) => ({ item, i }));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      results.set(next.i, await run(next.item));
      onDone(results.size);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return [...results].sort(([one], [other]) => one - other).map(([, result]) => result);
}

const statsOf = (window: DayWindow, filters: Filters, signal: AbortSignal) =>
  readStats(new URLSearchParams({ ...filters, ...window }), signal);

/** @param onDone how many days have come */
export const readDays = (
  window: DayWindow,
  filters: Filters,
  signal: AbortSignal,
  onDone: (done: number) => void,
): Promise<DaySpend[]> =>
  pooled(
    daysOf(window),
    async (day) => ({ day, stats: await statsOf({ since: day, until: dayAfter(day) }, filters, signal) }),
    onDone,
  );

/** The values of an attribute with the sums of each; a value of most sessions comes first, and beyond a dozen they are left out. */
export async function readKeys(
  field: SpendField,
  window: DayWindow,
  filters: Filters,
  signal: AbortSignal,
): Promise<SpendRow[]> {
  const facets = await browseFacets(field, new URLSearchParams({ ...filters, ...window }), signal);
  const picked = filters[field];
  const keys = facets.map(({ value }) => value).filter((value) => picked === undefined || value === picked);
  return pooled(keys.slice(0, MOST_KEYS), async (key) => ({
    key,
    stats: await statsOf(window, { ...filters, [field]: key }, signal),
  }));
}

export type SpendTotals = { now: Stats; before: Stats; dearest: Session[] };

export async function readTotals(window: DayWindow, filters: Filters, signal: AbortSignal): Promise<SpendTotals> {
  const sessions = new URLSearchParams({ ...filters, ...window, sort: 'total_cost', limit: String(MOST_SESSIONS) });
  const [now, before, page] = await Promise.all([
    statsOf(window, filters, signal),
    statsOf(windowBefore(window), filters, signal),
    browseSessions(sessions, signal),
  ]);
  return { now, before, dearest: page.items.filter(({ rollup }) => rollup.usage.cost_usd !== null) };
}
