/** `svc sessions list`: the sessions that match, as a table with numbers that other commands take. */
import pc from 'picocolors';
import type { LoadedConfig } from '../../config/load.ts';
import type { Session, SessionPage } from '../../model/session.ts';
import { openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { printJson } from '../print-response.ts';
import { dollars, shortAge, shortCount } from '../units.ts';
import { keepList } from './last-list.ts';
import { moreRemark } from './more-remark.ts';
import { type TableColumn, table } from './table.ts';

/** Parameters of GET /v1/browse/sessions. */
export type ListOptions = { filter: Readonly<Record<string, string>>; limit: number; json: boolean };

const PAGE = 200;

/** @throws {OperatorError} the service does not answer, or a filter is none */
export async function listSessions({ filter, limit, json }: ListOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const items: Session[] = [];
  let next: string | undefined;
  do {
    const query = new URLSearchParams({ ...filter, limit: String(Math.min(PAGE, limit - items.length)) });
    if (next) query.set('cursor', next);
    const page: SessionPage = await api.json({ path: `/v1/browse/sessions?${query}`, what: 'list the sessions' });
    items.push(...page.items);
    next = page.next_cursor;
  } while (next !== undefined && items.length < limit);
  keepList(
    { home: io.home, address: api.address },
    items.map(({ id }) => id),
  );
  if (json) return printJson({ items, ...(next && { next_cursor: next }) }, io);
  if (items.length === 0) {
    io.err(Object.keys(filter).length > 0 ? 'No session matches\n' : 'No session is recorded yet\n');
    return;
  }
  io.out(sessionTable(items, io));
  if (next) io.err(moreRemark(limit));
  if (io.isTerminal) io.err(pc.dim(`'svc sessions show 1' prints the first of them\n`));
}

/** With a number for each, from 1. */
export const sessionTable = (sessions: readonly Session[], { columns }: Pick<Io, 'columns'>): string =>
  table(
    sessions.map((session, i) => ({ ...session, number: i + 1 })),
    sessionColumns(Date.now()),
    columns,
  );

const sessionColumns = (now: number): TableColumn<Session & { number: number }>[] => [
  { title: '#', text: ({ number }) => String(number), align: 'right', colour: pc.cyan },
  { title: 'ID', text: ({ id }) => id.slice(0, 8), colour: pc.dim },
  {
    title: 'SEEN',
    text: ({ last_seen_at, live }) => (live ? 'live' : shortAge(last_seen_at, now)),
    colour: seenColour,
    drops: 1,
  },
  { title: 'TITLE', text: ({ display_title, starred }) => `${starred ? '★ ' : ''}${display_title}`, fills: true },
  { title: 'AGENT', text: ({ agent_name, harness_id }) => agent_name ?? harness_id, drops: 4 },
  { title: 'MODEL', text: ({ rollup }) => rollup.model ?? '', drops: 7 },
  { title: 'TURNS', text: ({ rollup }) => String(rollup.turn_count), align: 'right', drops: 5 },
  {
    title: 'TOKENS',
    text: ({ rollup: { usage } }) => shortCount(usage.input_tokens + usage.output_tokens),
    align: 'right',
    drops: 6,
  },
  { title: 'COST', text: ({ rollup }) => dollars(rollup.usage.cost_usd), align: 'right', drops: 2 },
  { title: 'STATUS', text: ({ rollup }) => rollup.status, colour: statusColour, drops: 3 },
];

const seenColour = (text: string, { live }: Session) => (live ? pc.green(text) : text);
const statusColour = (text: string) =>
  text === 'failed' ? pc.red(text) : text === 'completed' ? text : pc.yellow(text);
