/** The days and sums of the page of spend. */
import type { SeriesCell, StatsSeries } from '../../../../model/stats-series.ts';
import { grouped } from '../../parts/number-text.ts';

const DAY_MS = 86_400_000;

/** A window of whole UTC days: `since` is in it, `until` is not. */
export type DayWindow = { since: string; until: string };

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const isDay = (text: string | null): text is string =>
  text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(startOf(text)) && dayOf(startOf(text)) === text;

/** The last so many days, today included. @param now milliseconds since 1970 */
export const lastDays = (days: number, now: number): DayWindow => ({
  since: dayOf(now - (days - 1) * DAY_MS),
  until: dayOf(now + DAY_MS),
});

/** Each day is a band of the chart, so there is an end to them. */
const MOST_DAYS = 366;

/** The window that an address sets; without one, or with one that is none, the last 30 days. */
export function windowIn(query: URLSearchParams, now: number): DayWindow {
  const since = query.get('since');
  const until = query.get('until');
  const end = isDay(until) ? until : lastDays(1, now).until;
  if (!isDay(since) || since >= end) return lastDays(30, now);
  const earliest = dayOf(startOf(end) - MOST_DAYS * DAY_MS);
  return { since: since < earliest ? earliest : since, until: end };
}

/** Each day of a window, the oldest first. */
export function daysOf({ since, until }: DayWindow): string[] {
  const days: string[] = [];
  for (let ms = startOf(since); ms < startOf(until); ms += DAY_MS) days.push(dayOf(ms));
  return days;
}

export const dayAfter = (day: string): string => dayOf(startOf(day) + DAY_MS);

/** The window of the same length that ends where this begins. */
export const windowBefore = ({ since, until }: DayWindow): DayWindow => ({
  since: dayOf(2 * startOf(since) - startOf(until)),
  until: since,
});

/** How much more or less than before, as a share; null: there was nothing to compare with. */
export const changeOf = (now: number, before: number): number | null => (before === 0 ? null : (now - before) / before);

/** '▲ 18 %', '▼ 3 %', 'as before'. */
export function changeText(change: number): string {
  const percent = Math.round(Math.abs(change) * 100);
  if (percent === 0) return 'as much as';
  return `${grouped(percent)} % ${change > 0 ? 'more than' : 'less than'}`;
}

export const FIELDS = ['model', 'project', 'agent_name', 'provider'] as const;
export type SpendField = (typeof FIELDS)[number];

export const fieldIn = (query: URLSearchParams): SpendField =>
  FIELDS.find((field) => field === query.get('by')) ?? 'model';

/** The filters that this page hands to the API: those of /v1/stats. */
export function filtersIn(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(FIELDS.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])));
}

/** The cells of each day in which there are any, by key. */
export const cellsByDay = ({ points }: Pick<StatsSeries, 'points'>): ReadonlyMap<string, (SeriesCell | null)[]> =>
  new Map(points.map(({ at, cells }) => [at.slice(0, 10), cells]));

/** It used tokens, and none of them has a price. */
export const isUnpriced = ({ cost_usd, unpriced_tokens }: Pick<SeriesCell, 'cost_usd' | 'unpriced_tokens'>): boolean =>
  cost_usd === 0 && unpriced_tokens > 0;

export function shareText(part: number, whole: number): string {
  if (whole === 0) return '';
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`;
}

/** A table as CSV (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export const csvOf = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => row.map(csvCell).join(',')).join('\r\n');

function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
