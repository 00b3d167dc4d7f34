/** Do the address and the list of sessions mean the same, and do rows say what their sessions are? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { harnesses } from '../../../../../core/harness/harnesses.ts';
import { baseAt } from '../../../../../core/http/whose-call.ts';
import { BrowseQuery } from '../../../../../core/model/browse.ts';
import type { Event } from '../../../../../core/model/event.ts';
import { type Session, sessionExample } from '../../../../../core/model/session.ts';
import { providers } from '../../../../../core/provider/providers.ts';
import {
  activeFilters,
  browsePath,
  dayBefore,
  FILTER_LABELS,
  listQuery,
  mayMatch,
  SORT_LABELS,
  STATUSES,
  windowLabel,
} from '../../../../../core/web/client/pages/sessions/filters.ts';
import {
  costReason,
  elapsedUs,
  marksOf,
  sizeText,
  statusOf,
  whoText,
} from '../../../../../core/web/client/pages/sessions/row-text.ts';
import { proxyAddress, setupLines } from '../../../../../core/web/client/pages/sessions/setup-lines.ts';
import { NO_ROWS, withEvent, withoutSession, withPage } from '../../../../../core/web/client/store/list-changes.ts';

const test = suite('the list of sessions');

const session = (change: Partial<Session> = {}, rollup: Partial<Session['rollup']> = {}): Session => ({
  ...(sessionExample as Session),
  ...change,
  rollup: { ...(sessionExample as Session).rollup, ...rollup },
});

const NOON = Date.parse('2026-11-23T12:00:00Z');

test('every filter and order of the API is one of the page, by the same name', () => {
  const parameters = Object.keys(BrowseQuery.shape).filter(
    (name) => !['limit', 'cursor', 'sort', 'direction'].includes(name),
  );
  assert.equal(Object.keys(FILTER_LABELS).sort(), parameters.sort());
  assert.equal(Object.keys(SORT_LABELS).sort(), [...BrowseQuery.shape.sort.unwrap().options].sort());
  for (const status of STATUSES) assert.ok(BrowseQuery.safeParse({ status }).success, status);
});

test('an address becomes the request of the same filters, without what the list does not know', () => {
  const query = new URLSearchParams(
    'text=carry+adder&project=a%26b&status=failed,interrupted&sort=total_cost&span=1&limit=9',
  );
  assert.is(
    browsePath(query, { limit: 50, cursor: 'WzE' }),
    '/v1/browse/sessions?text=carry+adder&project=a%26b&status=failed%2Cinterrupted&sort=total_cost&limit=50&cursor=WzE',
  );
  const read = BrowseQuery.safeParse(
    Object.fromEntries(new URLSearchParams(browsePath(query, { limit: 50 }).split('?')[1])),
  );
  assert.ok(read.success);
  assert.equal(read.data?.text, ['carry', 'adder']);
  assert.is(read.data?.project, 'a&b');
});

test('two addresses of one list have one key, and an unknown order is the usual one', () => {
  assert.is(
    listQuery(new URLSearchParams('model=m&project=p')).toString(),
    listQuery(new URLSearchParams('project=p&model=m&x=1')).toString(),
  );
  assert.is(listQuery(new URLSearchParams('sort=last_active&direction=desc&text=')).toString(), '');
  assert.is(listQuery(new URLSearchParams('sort=toString&direction=up')).toString(), '');
  assert.equal(
    activeFilters(new URLSearchParams('status=failed&starred=true')).map(({ name, value }) => [name, value]),
    [
      ['status', 'failed'],
      ['starred', 'true'],
    ],
  );
});

test('windows of time have a name as long as they are one of those that can be chosen', () => {
  assert.is(dayBefore(6, NOON), '2026-11-17');
  assert.is(windowLabel(new URLSearchParams(), NOON), 'any time');
  assert.is(windowLabel(new URLSearchParams('since=today'), NOON), 'today');
  assert.is(windowLabel(new URLSearchParams('since=2026-11-17'), NOON), 'last 7 days');
  assert.is(windowLabel(new URLSearchParams('since=2026-11-17&until=2026-11-18'), NOON), null);
  assert.is(windowLabel(new URLSearchParams('since=2026-11-01'), NOON), null);
});

test('a session that an event brings is weighed against every filter that a browser can judge', () => {
  const one = session({ project: 'engine', agent_name: 'claude-code' }, { status: 'failed' });
  const matches = (query: string) => mayMatch(one, new URLSearchParams(query));
  for (const query of [
    '',
    'project=engine',
    'status=completed,failed',
    'model=claude-sonnet-4-5',
    'since=2026-07-27',
    'text=anything',
  ])
    assert.is(matches(query), true, query);
  for (const query of [
    'project=other',
    'agent_name=x',
    'status=completed',
    'model=gpt-5',
    'since=2026-07-28',
    'until=2026-07-27',
    'harness_id=codex',
  ])
    assert.is(matches(query), false, query);
});

test('events change a row in its place; what is new waits above the list', () => {
  const first = session({ id: '00000000-0000-4000-8000-000000000001' });
  const second = session({ id: '00000000-0000-4000-8000-000000000002' });
  const third = session({ id: '00000000-0000-4000-8000-000000000003' });
  const changed = (one: Session): Event => ({ event: 'session', id: '1', data: { session: one } });
  const all = new URLSearchParams();
  let rows = withPage(NO_ROWS, [first, second], 'next');
  rows = withEvent(rows, changed({ ...second, display_title: 'renamed' }), all);
  assert.equal(
    rows.items.map(({ display_title }) => display_title),
    [first.display_title, 'renamed'],
  );
  rows = withEvent(withEvent(rows, changed(third), all), changed(third), all);
  assert.equal([...rows.waiting], [third.id]);
  assert.is(rows.items.length, 2);
  assert.is(
    withEvent(rows, changed({ ...third, id: first.id.replace('1', '9') }), new URLSearchParams('project=x')).waiting
      .size,
    1,
  );
  rows = withPage(rows, [second, third], null);
  assert.equal(
    rows.items.map(({ id }) => id),
    [first.id, second.id, third.id],
    'one that moved is shown once',
  );
  rows = withEvent(rows, { event: 'session_deleted', id: '2', data: { session_id: third.id } }, all);
  assert.equal([rows.items.length, rows.waiting.size], [2, 0]);
  assert.is(withoutSession(rows, first.id).items[0]?.id, second.id);
});

test('a row says how its session ended, how large it is, and what a reader looks for', () => {
  const NOW = Date.parse(sessionExample.last_seen_at) + 60_000;
  assert.is(statusOf(session({ live: true }), NOW), 'live');
  assert.is(
    statusOf(session({ live: true }), NOW + 5 * 60_000),
    'completed',
    'no event says that five minutes are over',
  );
  assert.is(
    sizeText(session({}, { turn_count: 12, kind_counts: { main: 118, 'offshoot:title-gen': 2 } })),
    '12 prompts · 120 calls',
  );
  assert.is(sizeText(session()), '1 prompt · 8 calls');
  assert.equal(marksOf(session()), []);
  const marks = marksOf(
    session(
      { children: 3, forks: 1 },
      { tool_error_count: 2, kind_counts: { main: 1, 'offshoot:compaction': 1 }, inherited_calls: 4 },
    ),
  );
  assert.equal(
    marks.map(({ text }) => text),
    ['2 errors', '1 compaction', 'started 3 sessions', '1 fork', '4 calls of another session'],
  );
  assert.is(whoText(session({ agent_name: 'claude-code', project: 'engine' })), 'claude-code · engine');
  assert.is(whoText(session()), 'claude · engine', 'the harness and the last folder');
  assert.is(elapsedUs(session()), 671_877_000);
});

test('a cost that is not known, or is not whole, has its reason', () => {
  const usage = session().rollup.usage;
  assert.is(costReason(session()), null);
  assert.match(
    costReason(session({}, { usage: { ...usage, cost_usd: null, unpriced_models: ['llama3'] } })) ?? '',
    /^no price.*llama3/,
  );
  assert.match(
    costReason(session({}, { usage: { ...usage, unpriced_models: ['a', 'b'] } })) ?? '',
    /^more than this.*a, b/,
  );
  const unknown = { usage: { ...usage, cost_usd: null }, kind_counts: { main: 2 } };
  assert.is(costReason(session({}, { ...unknown, error_count: 2 })), 'no call was answered');
  assert.is(costReason(session({}, { ...unknown, error_count: 1 })), 'no answer states its usage');
  assert.is(costReason(session({}, { ...unknown, kind_counts: {} })), 'no call yet');
});

test('the lines to paste are those of the banner', () => {
  const proxy = 'http://localhost:8080';
  const known = new Map([
    ...harnesses.flatMap(({ start }) => (start ? [[start.name, start.line(proxy)] as const] : [])),
    ...providers.flatMap(({ id, clients }) => clients(baseAt(proxy, id)).map(([name, line]) => [name, line] as const)),
  ]);
  for (const { client, line } of setupLines(proxy)) assert.is(line, known.get(client), client);
});

test('the address to paste is one that reaches the proxy from here', () => {
  const listeners = (proxy: string[]) => ({ listeners: { proxy, api: [], ingest: [] } }) as never;
  assert.is(proxyAddress(listeners(['http://[::1]:9', 'http://127.0.0.1:8080']), 'localhost'), 'http://127.0.0.1:8080');
  assert.is(proxyAddress(listeners(['http://0.0.0.0:8080']), 'build.example'), 'http://build.example:8080');
  assert.is(proxyAddress(listeners([]), 'localhost'), null);
  assert.is(proxyAddress(undefined, 'localhost'), null);
});

test.run();
