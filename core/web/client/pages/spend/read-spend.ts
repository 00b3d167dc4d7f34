/** The reads of the page of spend: its days and keys in one request, the sums beside it, and what was avoidable. */
import type { BreaksPage } from '../../../../model/cache-break.ts';
import type { Session } from '../../../../model/session.ts';
import type { Stats } from '../../../../model/stats.ts';
import type { StatsSeries } from '../../../../model/stats-series.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { request } from '../../api/request.ts';
import { browseSessions } from '../../api/sessions.ts';
import { readStats, readStatsSeries } from '../../api/stats.ts';
import { type DayWindow, type SpendField, windowBefore } from './spend-days.ts';

const MOST_SESSIONS = 8;

export type Filters = Readonly<Record<string, string>>;

const statsOf = (window: DayWindow, filters: Filters, signal: AbortSignal) =>
  readStats(new URLSearchParams({ ...filters, ...window }), signal);

export const readSeries = (
  by: SpendField,
  window: DayWindow,
  filters: Filters,
  signal: AbortSignal,
): Promise<StatsSeries> => readStatsSeries(new URLSearchParams({ ...filters, ...window, bucket: 'day', by }), signal);

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

export type Leaks = Pick<BreaksPage, 'groups' | 'items' | 'sessions_waiting'>;

/** Null: the service does not say, or it cannot filter by provider as the page does. */
export async function readLeaks(window: DayWindow, filters: Filters, signal: AbortSignal): Promise<Leaks | null> {
  if (filters.provider !== undefined) return null;
  try {
    return await request<Leaks>(`/v1/cache/breaks?${new URLSearchParams({ ...filters, ...window, by: 'cause' })}`, {
      signal,
    });
  } catch (error) {
    if (error instanceof ProblemError && (error.status === 404 || error.status === 405)) return null;
    throw error;
  }
}
