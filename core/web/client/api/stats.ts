/** Reads of statistics. */
import type { Stats } from '../../../model/stats.ts';
import { request } from './request.ts';

export const readStats = (query: URLSearchParams, signal?: AbortSignal): Promise<Stats> =>
  request(`/v1/stats?${query}`, { signal });
