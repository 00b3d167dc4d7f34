/** The filters of a search: attributes that must be equal, and a window of time; as parameters, and as a condition of a statement. */
import { z } from '@hono/zod-openapi';
import type { Env } from '../../core/cassette/contract.ts';
import { readCore } from './core-reads.ts';
import type { SearchConfig } from './manifest.ts';

/** No column can hold a NUL, or half a surrogate pair. */
const isStorable = (value: string): boolean => value.isWellFormed() && !value.includes('\0');

const Attribute = z
  .string()
  .max(1_024)
  .refine(isStorable, 'must have neither the character NUL nor half a surrogate pair')
  .optional()
  .transform((value) => (value === '' ? undefined : value));

const BOUND =
  'must be an RFC 3339 timestamp such as 2026-07-27T09:30:00Z, a day such as 2026-07-27, today or yesterday';
/** With offsets as far as PostgreSQL takes them. */
const STAMP =
  /^(\d{4}-\d\d-\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-5]):[0-5]\d))?$/i;
const FIRST = '0001-01-01T00:00:00Z'; // PostgreSQL has no year 0
const DAYS_AGO: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };
const DAY_MS = 86_400_000;

/** A day is its first moment in UTC. */
function instantOf(bound: string): string | null {
  const ago = Object.hasOwn(DAYS_AGO, bound) ? DAYS_AGO[bound] : undefined;
  const text = ago === undefined ? bound : new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  const [, day] = STAMP.exec(text) ?? [];
  if (!z.iso.date().safeParse(day).success) return null; // no such day
  const stamp = text === day ? `${text}T00:00:00Z` : text;
  return Date.parse(stamp) < Date.parse(FIRST) ? FIRST : stamp;
}

const Bound = z
  .string()
  .optional()
  .transform((bound, context) => {
    if (bound === undefined || bound === '') return undefined;
    const instant = instantOf(bound);
    if (instant !== null) return instant;
    context.addIssue(BOUND);
    return z.NEVER;
  });

const text = (description: string) => Attribute.openapi({ type: 'string', description });
const time = (description: string) =>
  Bound.openapi({ type: 'string', description: `${description}; RFC 3339, a day, today or yesterday (UTC)` });

export const FILTERS = {
  project: text('of the session'),
  agent_name: text('of the session'),
  model: text('that answered'),
  tool: text('the name of a tool: calls that used it, and with text its own steps'),
  status: z.enum(['ok', 'error', 'partial']).optional().openapi({ description: 'of the span' }),
  since: time('spans begun then or later'),
  until: time('spans begun before'),
};
type Values = { [Name in keyof typeof FILTERS]: z.output<(typeof FILTERS)[Name]> };
export type SearchFilter = { [Name in keyof Values]?: Values[Name] };

/** The filters that are set. */
export const filterOf = (query: SearchFilter): SearchFilter =>
  Object.fromEntries(
    Object.keys(FILTERS).flatMap((name) => {
      const value = query[name as keyof SearchFilter];
      return value === undefined ? [] : [[name, value]];
    }),
  );

export const isFiltered = (filter: SearchFilter): boolean => Object.keys(filter).length > 0;

/** A condition on a span `s`, with the values of its parameters. */
export type SpanCondition = { sql: string; values: unknown[] };

/**
 * @param first the number of the first parameter
 * @throws {SearchOff} a project or an agent is sought, and the core cannot be asked
 */
export async function conditionOf(env: Env<SearchConfig>, filter: SearchFilter, first: number): Promise<SpanCondition> {
  const { project, agent_name, model, tool, status, since, until } = filter;
  const sessions = project === undefined && agent_name === undefined ? undefined : await sessionsOf(env, filter);
  const parts: [value: unknown, sql: (parameter: string) => string][] = [
    [sessions && `{${sessions.join(',')}}`, (p) => `s.session_id = any(${p}::uuid[])`],
    [model, (p) => `s.model = ${p}::text`],
    [status, (p) => `s.status = ${p}::text`],
    [since, (p) => `s.started_at >= ${p}::timestamptz`],
    [until, (p) => `s.started_at < ${p}::timestamptz`],
    [tool && JSON.stringify([{ type: 'tool_use', tool_name: tool }]), (p) => `s.output @> ${p}::jsonb`],
  ];
  const set = parts.filter(([value]) => value !== undefined);
  return {
    sql: set.map(([, sql], i) => ` and ${sql(`$${first + i}`)}`).join(''),
    values: set.map(([value]) => value),
  };
}

const PAGE = 200;
const MOST_PAGES = 10;

const Sessions = z.object({ items: z.array(z.object({ id: z.uuid() })), next_cursor: z.string().optional() });

/** The sessions of the project and of the agent, those seen last first: at most 2,000. */
async function sessionsOf(env: Env<SearchConfig>, { project, agent_name }: SearchFilter): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const parameters = { project, agent_name, limit: String(PAGE), cursor };
    const { items, next_cursor } = Sessions.parse(await readCore(env, '/v1/browse/sessions', parameters));
    ids.push(...items.map(({ id }) => id));
    cursor = next_cursor;
    if (cursor === undefined) break;
  }
  return ids;
}
