/** Do the commands that read the record print what the read API has, and say what is wrong where they cannot? Over a real socket. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import stringWidth from 'fast-string-width';
import * as assert from 'uvu/assert';
import { type Served, serveApp } from '../../../../core/http/listen.ts';
import type { Session } from '../../../../core/model/session.ts';
import type { StatsSeries } from '../../../../core/model/stats-series.ts';
import { svc } from '../../../support/cli-program.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { demoApi } from '../../../support/demo-api.ts';
import { indexAll } from '../../../support/index-all.ts';
import { testApi } from '../../../support/read-api.ts';

const MIDNIGHT = '16dd8bce-b2a0-59a6-9baa-d811643b8fe4';
const TRACE = '2c9264c9-e353-5974-92d5-df7b1b87c2ac';

databaseSuite('the record in the terminal', (test, database) => {
  let cwd = '';
  let listener: Served;
  let address = '';

  test.before(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'svc-record-'));
    await database().reset();
    const api = await demoApi(database());
    await indexAll(database());
    listener = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
    address = listener.addresses[0] ?? '';
  });
  test.after(async () => {
    await listener.close(0);
    rmSync(cwd, { recursive: true, force: true });
  });

  const called = (args: readonly string[], io: { columns?: number } = {}) =>
    svc(args, { cwd, env: { SVC_CLIENT_API_TARGET: address, NO_COLOR: '1' }, ...io });
  const printed = async (...args: string[]) => {
    const { status, out, err } = await called(args);
    assert.is(status, 0, err);
    return out;
  };
  const refused = async (...args: string[]) => {
    const { status, out, err } = await called(args);
    assert.is(out, '');
    return [status, err.trim()] as const;
  };

  test('sessions are listed with numbers, which name them afterwards', async () => {
    const lines = (await printed('sessions')).trimEnd().split('\n');
    assert.is(lines.length, 13, lines.join('\n'));
    assert.match(lines[0] ?? '', /^ *# +ID +SEEN +TITLE +AGENT +MODEL +TURNS +TOKENS +COST +STATUS$/);
    const { items } = JSON.parse(await printed('sessions', 'list', '--json')) as { items: Session[] };
    for (const [i, { id }] of items.entries())
      assert.match(lines[i + 1] ?? '', new RegExp(`^ *${i + 1} +${id.slice(0, 8)} `));
    const third = items[2] as Session;
    assert.match(await printed('sessions', 'show', '3'), third.id);
    assert.match(await printed('sessions', 'show', 'last'), items[0]?.id ?? '?');
  });

  test('filters and orders are those of the read API', async () => {
    const ids = async (...args: string[]) =>
      (JSON.parse(await printed('sessions', ...args, '--json')) as { items: Session[] }).items.map(({ id }) => id);
    assert.equal(await ids('--text', 'midnight'), [MIDNIGHT]);
    assert.is((await ids('--agent', 'codex')).length, 1);
    assert.is((await ids('-n', '2')).length, 2);
    const dearest = await ids('--sort', 'total_cost');
    assert.equal(await ids('--sort', 'total_cost', '--reverse', '-n', '1'), [
      dearest.filter((id) => id !== dearest.at(-1)).at(-1),
    ]);
    const [status, why] = await refused('sessions', '--sort', 'never');
    assert.is(status, 1);
    assert.match(why, /^Cannot list the sessions: Cannot read the query: "sort" /);
    assert.is((await called(['sessions', '-n', '0'])).status, 2);
  });

  test('a time that is none is wrong usage, in the words of the command, before a service is looked for', async () => {
    const lines = [
      [['sessions'], '--since', 'list the sessions'],
      [['stats'], '--since', 'read the statistics'],
      [['stats', '--by', 'model'], '--until', 'read the statistics'],
      [['find', 'midnight'], '--until', 'find it'],
      [['export'], '--since', 'export'],
      [['purge'], '--before', 'purge'],
      [['purge'], '--after', 'purge'],
    ] as const;
    const env = { SVC_CLIENT_API_TARGET: 'http://127.0.0.1:2' };
    for (const [words, flag, what] of lines)
      for (const time of ['nonsense', '2026-13-01', '2026-07-27 10:00', '2026']) {
        const { status, err } = await svc([...words, flag, time], { cwd, env });
        const must = `${flag} must be a day such as 2026-07-27, today, yesterday or a timestamp such as 2026-07-27T09:30:00Z`;
        assert.equal([status, err], [2, `Cannot ${what}: ${must}, not '${time}'\n`]);
      }
    assert.is((await svc(['export', '--detail', 'xx'], { cwd, env })).status, 2);
    for (const time of ['yesterday', '2026-07-27', '2026-07-27T09:30:00.5+02:00'])
      assert.is((await called(['stats', '--since', time])).status, 0);
  });

  test('a conversation reads as it went: prompt, thinking, answer, tools with folded results, failures', async () => {
    const text = await printed('sessions', 'show', MIDNIGHT.slice(0, 6));
    const places = [
      MIDNIGHT,
      '── 1 ──',
      "❯ The test 'departs today' fails on CI",
      'It only fails in the evening',
      '● Bash grep -rn "departs today"',
      '… 2 more lines',
      '✗ overloaded_error: Overloaded',
      "✗ Bash faketime '2026-11-20 22:30:00 UTC' npm test -- timetable",
      '── 2 ──',
      '❯ Good. Add a test that would have caught it, and commit.',
      'Committed as `4be21c7`',
    ].map((part) => text.indexOf(part));
    assert.not.ok(places.includes(-1), JSON.stringify(places));
    assert.equal(
      [...places].sort((one, other) => one - other),
      places,
    );
    const whole = await printed('sessions', 'show', MIDNIGHT, '--full');
    assert.not.match(whole, /more lines?$/m);
    assert.match(whole, '"old_string"');
    const last = await printed('sessions', 'show', MIDNIGHT, '--last', '1');
    assert.match(last, '── 2 ──');
    assert.not.match(last, '── 1 ──');
    const { traces } = JSON.parse(await printed('sessions', 'show', MIDNIGHT, '--json')) as { traces: unknown[] };
    assert.is(traces.length, 2);
  });

  test('in a terminal no line of a result is longer than it', async () => {
    const { out } = await called(['sessions', 'show', MIDNIGHT], { columns: 60 });
    const tools = out.split('\n').filter((line) => /^[●✗] |^ {2}\S/.test(line));
    assert.ok(tools.length > 10);
    assert.equal(
      tools.filter((line) => line.length > 60),
      [],
    );
  });

  test('tables fit a narrow terminal', async () => {
    for (const args of [['sessions'], ['traces', MIDNIGHT], ['spans', TRACE], ['raw-turns', MIDNIGHT]])
      for (const columns of [64, 40]) {
        const { out, err } = await called(args, { columns });
        assert.match(out, /^ *(#|ID|TURN) /, err);
        for (const line of out.trimEnd().split('\n'))
          assert.ok(stringWidth(line) <= columns, `${args} ${columns}: ${line}`);
      }
  });

  test('sub-agents stand further to the right than who sent them out', async () => {
    const { items } = JSON.parse(await printed('sessions', '--json')) as { items: Session[] };
    const texts = await Promise.all(items.map(({ id }) => printed('sessions', 'show', id)));
    const withAgents = texts.filter((text) => text.includes('◆'));
    assert.ok(withAgents.length > 0);
    for (const text of withAgents) assert.match(text, /◆[^\n]*\n(?:.*\n)*? {2}[●❯✗]/);
  });

  test('traces, spans and raw turns are tables, of what is named by an id or its beginning', async () => {
    assert.match(await printed('traces', MIDNIGHT), /^2c9264c9 .*The test 'departs today' fails/m);
    assert.is((await printed('traces')).trimEnd().split('\n').length, 27);
    assert.is((await printed('spans', TRACE.slice(0, 7))).trimEnd().split('\n').length, 17);
    assert.is((await printed('spans', MIDNIGHT)).trimEnd().split('\n').length, 25);
    assert.is((await printed('spans', MIDNIGHT, '-n', '3')).trimEnd().split('\n').length, 4);
    const turns = JSON.parse(await printed('raw-turns', MIDNIGHT, '--json')) as { items: unknown[] };
    assert.is(turns.items.length, 12);
    assert.match(await printed('raw-turns', MIDNIGHT), /anthropic\.messages .* 529 /);
  });

  test('a list that is cut says so, and where it goes on', async () => {
    type Part = { items: object[]; next_cursor?: string; next_trace_id?: string; next_seq?: number };
    const part = async (...args: string[]) => JSON.parse(await printed(...args, '--json')) as Part;
    const rest = async (path: string) => (await (await fetch(`${address}${path}`)).json()) as Part;
    const more = 'There are more: --limit 6 shows twice as many\n';
    for (const [args, path] of [
      [['raw-turns', MIDNIGHT], `/v1/sessions/${MIDNIGHT}/raw_turns?`],
      [['traces'], '/v1/traces?'],
    ] as const) {
      const [all, cut] = [await part(...args), await part(...args, '-n', '3')];
      assert.is(all.next_cursor, undefined);
      const { items } = await rest(`${path}limit=200&cursor=${encodeURIComponent(cut.next_cursor ?? '')}`);
      assert.equal([...cut.items, ...items], all.items);
      assert.is((await called([...args, '-n', '3'])).err, more);
      assert.is((await called([...args, '-n', String(all.items.length)])).err, '');
    }
    const all = (await part('spans', MIDNIGHT)).items as { trace_id: string }[];
    const first = all.filter(({ trace_id }) => trace_id === TRACE);
    assert.ok(first.length > 3 && first.length < all.length);
    assert.equal(await part('spans', TRACE), { items: first });
    for (const count of [3, first.length]) {
      const { items, next_trace_id, next_seq } = await part('spans', MIDNIGHT, '-n', String(count));
      const next = (await rest(`/v1/traces/${next_trace_id}/spans?from_seq=${next_seq}&limit=200`)).items;
      assert.equal([...items, ...next], all.slice(0, items.length + next.length));
      assert.ok(items.length === count && next.length > 0);
    }
    assert.is((await called(['spans', MIDNIGHT, '-n', '3'])).err, more);
    assert.is((await called(['spans', MIDNIGHT])).err, '');
  });

  test('find reads on up to its limit, and says where there are more', async () => {
    type Found = { items: { span_id: string; place: string }[]; next_cursor?: string };
    const found = async (count: number) => {
      const args = ['find', 'the', '-n', String(count), '--json'];
      const { items, next_cursor } = JSON.parse(await printed(...args)) as Found;
      return { hits: items.map(({ span_id, place }) => `${span_id} ${place}`), next_cursor };
    };
    const [all, cut] = [await found(200), await found(60)]; // a page has at most 50
    assert.ok(all.hits.length > 100);
    assert.is(all.next_cursor, undefined);
    assert.is(new Set(all.hits).size, all.hits.length);
    assert.equal(cut.hits, all.hits.slice(0, 60));
    assert.ok(cut.next_cursor);
    assert.is((await called(['find', 'the', '-n', '3'])).err, 'There are more: --limit 6 shows twice as many\n');
  });

  test('totals are those of the read API', async () => {
    const api = (await (await fetch(`${address}/v1/stats`)).json()) as object;
    assert.equal(JSON.parse(await printed('stats', '--json')), api);
    assert.match(await printed('stats'), /^sessions +12$/m);
    assert.match(await printed('stats', '--agent', 'codex'), /^sessions +1$/m);
    assert.match(await printed('coverage'), /^all +98 +97 +1$/m);
  });

  test('spend is the series of the read API, by key and by day', async () => {
    const series = (await (await fetch(`${address}/v1/stats/series?by=agent_name&bucket=day`)).json()) as StatsSeries;
    assert.equal(JSON.parse(await printed('stats', '--by', 'agent', '--bucket', 'day', '--json')), series);
    const text = await printed('stats', '--by', 'agent');
    assert.match(text, /^AGENT +COST +FRESH +READ +WRITTEN +OUTPUT +REASONING +TOKENS IN +OUT$/m);
    for (const key of series.keys) assert.match(text, new RegExp(`^${key || '\\(none\\)'} `, 'm'));
    const days = (await printed('stats', '--by', 'agent', '--bucket', 'day')).trimEnd().split('\n');
    assert.is(days.length, 2 + series.points.flatMap(({ cells }) => cells.filter(Boolean)).length);
  });

  test('find shows where the words stand; what is nowhere leaves the numbers as they were', async () => {
    assert.match(await printed('find', 'midnight', 'test'), MIDNIGHT.slice(0, 8));
    assert.match(await printed('find', 'run', '8841', '--in', 'tools'), /tools {2}span .*\n {3}.*run 8841/);
    const amended = await called(['find', 'midnihgt', 'test']);
    assert.match(amended.out, MIDNIGHT.slice(0, 8));
    assert.match(
      amended.err,
      /^Nothing recorded has 'midnihgt'; these have 'midnight'\nThere are more: --limit 20 .*\n$/,
    );
    const { status, out, err } = await called(['find', 'zzzz']);
    assert.equal([status, out], [0, '']);
    assert.match(err, 'Nothing recorded has these words');
    assert.match(await printed('sessions', 'show', '1'), MIDNIGHT);
    assert.equal(await refused('find', 'x', '--mode', 'magic'), [
      2,
      "Cannot search by 'magic': there are only 'text', 'vector', 'hybrid'",
    ]);
    assert.equal(await refused('find', 'x', '--mode', 'hybrid', '--in', 'tools'), [
      2,
      "Cannot filter by 'in' with --mode hybrid: only text has it",
    ]);
  });

  test('a session is renamed, gets a star, and is deleted once it was confirmed', async () => {
    const name = async (...args: string[]) => {
      assert.is((await called(args)).status, 0);
      return printed('sessions', '--text', 'skala');
    };
    const { items } = JSON.parse(await printed('sessions', '--text', 'skala', '--json')) as { items: Session[] };
    const id = items[0]?.id ?? '';
    assert.match(await name('sessions', 'rename', id, 'The slow harbour'), 'The slow harbour');
    assert.match(await name('sessions', 'star', id), '★ The slow harbour');
    assert.not.match(await name('sessions', 'unstar', id), '★');
    const [status, why] = await refused('sessions', 'delete', id);
    assert.is(status, 2);
    assert.match(why, /nobody is there to confirm it; add --yes/);
    assert.is((await called(['sessions', 'delete', id, '--yes'])).status, 0);
    assert.match((await refused('sessions', 'show', id))[1], 'Cannot read the session');
  });

  test('a word that names nothing, or several, is an error that says what to do', async () => {
    assert.equal(await refused('sessions', 'show', 'nothing'), [
      1,
      "Cannot find the session 'nothing': no id is or begins like that; 'svc sessions' lists them",
    ]);
    assert.match((await refused('sessions', 'show', '999'))[1], /the last list has no such number/);
    const { items } = JSON.parse(await printed('sessions', '--json')) as { items: Session[] };
    assert.ok(items.length > 0);
    assert.match(await printed('sessions', 'show', items[0]?.harness_session_id ?? ''), items[0]?.id ?? '?');
  });

  test('where no service answers, another program does, or a token is missing, the error says so', async () => {
    const at = (target: string, token?: string) =>
      svc(['sessions'], { cwd, env: { SVC_CLIENT_API_TARGET: target, ...(token && { SVC_API_TOKEN: token }) } });
    const nobody = await at('http://127.0.0.1:9');
    assert.is(nobody.status, 1);
    assert.match(nobody.err, /nobody listens at http:\/\/127\.0\.0\.1:9; 'svc serve' starts one/);
    const other = await serveApp({
      fetch: () => new Response('hello'),
      ...{ hosts: ['127.0.0.1'], port: 0, what: 'test' },
    });
    assert.match((await at(other.addresses[0] ?? '')).err, /another program answers/);
    await other.close(0);
    const guarded = await serveApp({
      fetch: testApi({ execute: database().execute, token: 'open-sesame' }).fetch,
      ...{ hosts: ['127.0.0.1'], port: 0, what: 'test' },
    });
    const guardedAt = guarded.addresses[0] ?? '';
    assert.match((await at(guardedAt)).err, /api\.token is missing; set SVC_API_TOKEN/);
    const wrong = await at(guardedAt, 'guess-me');
    assert.match(wrong.err, /api\.token is wrong/);
    assert.not.match(wrong.err, 'guess-me');
    assert.is((await at(guardedAt, 'open-sesame')).status, 0);
    await guarded.close(0);
  });

  test('the last list is of one service, and only its user reads it', async () => {
    await printed('sessions');
    const file = join(cwd, '.svc', 'last-list.json');
    const list = JSON.parse(readFileSync(file, 'utf8')) as { address: string };
    assert.is(list.address, address);
  });
});
