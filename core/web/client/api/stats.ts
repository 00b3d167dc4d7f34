/** Reads of statistics. */
import type { Stats } from '../../../model/stats.ts';
import type { StatsSeries } from '../../../model/stats-series.ts';
import { request } from './request.ts';

export const readStats = (query: URLSearchParams, signal?: AbortSignal): Promise<Stats> =>
  request(`/v1/stats?${query}`, { signal });

export const readStatsSeries = (query: URLSearchParams, signal?: AbortSignal): Promise<StatsSeries> =>
  request(`/v1/stats/series?${query}`, { signal });
