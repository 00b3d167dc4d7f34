/** The addresses of lists of sessions that a figure of spend leads to. */
import type { Filters } from './read-spend.ts';
import { type DayWindow, dayAfter } from './spend-days.ts';

export const sessionsOfDay = (day: string, filters: Filters): string =>
  sessionsOfWindow({ since: day, until: dayAfter(day) }, filters);

/** Sessions that were at work in the window, the dearest first. */
export const sessionsOfWindow = (window: DayWindow, filters: Filters): string =>
  `/sessions?${new URLSearchParams({ ...filters, ...window, sort: 'total_cost' })}`;
