/** The filters and orders of the list of sessions. The parameters of the page's address are those of /v1/browse/sessions, by name. */
import type { Direction, SessionSort } from '../../../../model/browse.ts';
import type { Session } from '../../../../model/session.ts';

/** What each filter is called on screen. */
export const FILTER_LABELS = {
  text: 'words',
  project: 'project',
  agent_name: 'agent',
  model: 'model',
  provider: 'provider',
  harness_id: 'harness',
  harness_session_id: "harness's id",
  status: 'status',
  starred: 'starred',
  parent_session_id: 'started by',
  fork_of_session_id: 'forks of',
  since: 'since',
  until: 'until',
} as const;
export type FilterName = keyof typeof FILTER_LABELS;
const FILTER_NAMES = Object.keys(FILTER_LABELS) as FilterName[];

export const SORT_LABELS: Readonly<Record<SessionSort, string>> = {
  last_active: 'last active',
  started_at: 'started',
  turn_count: 'prompts',
  total_cost: 'cost',
  total_tokens: 'tokens',
  duration: 'duration',
};

export const STATUSES: readonly Session['rollup']['status'][] = [
  'completed',
  'failed',
  'interrupted',
  'abandoned',
  'unknown',
];

export type ActiveFilter = { name: FilterName; label: string; value: string };

/** The filters that an address sets, in a fixed order. */
export const activeFilters = (query: URLSearchParams): ActiveFilter[] =>
  FILTER_NAMES.flatMap((name) => {
    const value = query.get(name);
    return value ? [{ name, label: FILTER_LABELS[name], value }] : [];
  });

export const sortOf = (query: URLSearchParams): SessionSort => {
  const sort = query.get('sort') ?? '';
  return Object.hasOwn(SORT_LABELS, sort) ? (sort as SessionSort) : 'last_active';
};
export const directionOf = (query: URLSearchParams): Direction => (query.get('direction') === 'asc' ? 'asc' : 'desc');

/** The filters and the order alone, each once: the same list has the same text whatever else its address holds. */
export function listQuery(query: URLSearchParams): URLSearchParams {
  const list = new URLSearchParams(activeFilters(query).map(({ name, value }) => [name, value]));
  if (sortOf(query) !== 'last_active') list.set('sort', sortOf(query));
  if (directionOf(query) === 'asc') list.set('direction', 'asc');
  return list;
}

/** The path of a page of the list. */
export function browsePath(query: URLSearchParams, { limit, cursor }: { limit: number; cursor?: string }): string {
  const parameters = listQuery(query);
  parameters.set('limit', String(limit));
  if (cursor !== undefined) parameters.set('cursor', cursor);
  return `/v1/browse/sessions?${parameters}`;
}

/** Choices for the window of time, with how many days before today it begins. */
export const WINDOWS = [
  { label: 'today', days: 0 },
  { label: 'last 7 days', days: 6 },
  { label: 'last 30 days', days: 29 },
  { label: 'last 90 days', days: 89 },
] as const;

const DAY_MS = 86_400_000;

/** The UTC day so many days before a moment. @param now milliseconds since 1970 */
export const dayBefore = (days: number, now: number): string =>
  new Date(now - days * DAY_MS).toISOString().slice(0, 10);

/** The window that an address sets: one of the choices by its label, 'any time', or null for bounds of its own. */
export function windowLabel(query: URLSearchParams, now: number): string | null {
  const since = query.get('since');
  if (query.get('until')) return null;
  if (!since) return 'any time';
  if (since === 'today') return 'today';
  return WINDOWS.find(({ days }) => dayBefore(days, now) === since)?.label ?? null;
}

/**
 * Whether a session that an event brought belongs in the list. What the browser cannot judge (words, the provider) counts as
 * matched: the list is read again before the session is shown in it.
 */
export function mayMatch(session: Session, query: URLSearchParams): boolean {
  const is = (name: FilterName, value: string | undefined) => !query.get(name) || query.get(name) === value;
  const statuses = query.get('status')?.split(',');
  const models = session.rollup.model_usage?.map(({ model }) => model) ?? [];
  const model = query.get('model');
  return (
    is('project', session.project) &&
    is('agent_name', session.agent_name) &&
    is('harness_id', session.harness_id) &&
    is('harness_session_id', session.harness_session_id) &&
    is('parent_session_id', session.parent_session_id) &&
    is('fork_of_session_id', session.fork_of_session_id) &&
    (!statuses || statuses.includes(session.rollup.status)) &&
    (!model || models.includes(model)) &&
    query.get('starred') !== 'true' &&
    !isBefore(session.last_seen_at, query.get('since')) &&
    !(query.get('until') && !isBefore(session.started_at, query.get('until')))
  );
}

/** False where the bound is open or is no time that a browser reads. */
function isBefore(at: string, bound: string | null): boolean {
  if (!bound) return false;
  const now = Date.now();
  const moment = bound === 'today' ? dayBefore(0, now) : bound === 'yesterday' ? dayBefore(1, now) : bound;
  return Date.parse(at) < Date.parse(moment);
}
