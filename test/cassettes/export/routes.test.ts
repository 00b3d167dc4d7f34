/** The export routes, row by row of the contract: parameters, window, order, filenames and status codes. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { manifest } from '../../../cassettes/export/manifest.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { standCassette } from '../../support/cassette-stand.ts';
import { databaseSuite } from '../../support/databases.ts';
import { type Document, operationsOf, schemaCheck } from '../../support/openapi-fuzz/document.ts';
import { idOf, insertSessions, insertTraces } from '../../support/projection-rows.ts';
import type { Json } from '../../support/read-api.ts';
import { exporting, filenameOf, linesOf } from './exporting.ts';

const id = idOf('session', 1);
const SINGLE = `/sessions/${id}`;

databaseSuite('export routes', (test, database) => {
  let exported: Awaited<ReturnType<typeof exporting>>;

  /** Session n was last seen on day n of the month, and had a turn on each of these days, at midnight. */
  const DAYS: [n: number, days: number[]][] = [
    [1, [1]],
    [2, [1, 2]],
    [3, [3]],
    [5, [5]],
    [20, [2, 20]],
  ];
  const day = (n: number) => `2026-11-${String(n).padStart(2, '0')}T00:00:00Z`;

  test.before(async () => {
    await insertSessions(
      database(),
      DAYS.map(([n]) => ({ n, started_at: day(1), last_seen_at: day(n) })),
    );
    const traces = DAYS.flatMap(([session, days]) => days.map((on) => ({ session, started_at: day(on) })));
    await insertTraces(
      database(),
      traces.map((trace, n) => ({ n, ...trace })),
    );
    exported = await exporting(database());
  });
  test.after(() => exported.close());

  const listedSessions = async (query: string, now?: string) => {
    const answer = await exported.ask(`/sessions${query}`, now ? { now: Date.parse(now) } : {});
    assert.is(answer.status, 200);
    return (await linesOf(answer)).map(({ session }) => Number.parseInt(session.id.slice(1, 8), 16));
  };

  test('newest first, one line per session', async () => {
    assert.equal(await listedSessions(''), [20, 5, 3, 2, 1]);
  });

  test('since: sessions with a turn started at or after it', async () => {
    assert.equal(await listedSessions(`?since=${day(3)}`), [20, 5, 3]);
    assert.equal(await listedSessions('?since=2026-11-03T00:00:00.000001Z'), [20, 5]);
  });

  test('until: sessions with a turn started before it', async () => {
    assert.equal(await listedSessions(`?until=${day(3)}`), [20, 2, 1]);
    assert.equal(await listedSessions('?until=2026-11-03T00:00:00.000001Z'), [20, 3, 2, 1]);
  });

  test('both bound when turns started, not when the session was created or last seen', async () => {
    assert.equal(
      await listedSessions(`?since=${day(3)}&until=${day(19)}`),
      [5, 3],
      'session 20 was silent between day 2 and day 20',
    );
    assert.equal(await listedSessions(`?since=${day(2)}&until=${day(3)}`), [20, 2]);
  });

  test('the whole session is told, with its turns outside of the window', async () => {
    const [line] = await linesOf(await exported.ask(`/sessions?since=${day(20)}`));
    assert.equal(
      line.traces.map(({ trace }: Json) => trace.started_at),
      ['2026-11-02T00:00:00.000000Z', '2026-11-20T00:00:00.000000Z'],
    );
  });

  test('since defaults to 30 days ago, and an older one is clamped to that without error', async () => {
    const later = '2026-12-03T00:00:00Z'; // 30 days after the 3rd
    assert.equal(await listedSessions('', later), [20, 5, 3]);
    assert.equal(await listedSessions('?since=2026-11-01T00:00:00Z', later), [20, 5, 3]);
    assert.equal(await listedSessions('', '2026-12-03T00:00:00.001Z'), [20, 5]);
  });

  test('until not after since is an empty 200', async () => {
    for (const query of [
      `?since=${day(3)}&until=${day(3)}`,
      `?since=${day(5)}&until=${day(3)}`,
      '?until=2026-01-01T00:00:00Z',
    ]) {
      const answer = await exported.ask(`/sessions${query}`);
      assert.equal(
        [answer.status, answer.headers.get('content-type'), await answer.text()],
        [200, 'application/x-ndjson', ''],
      );
      assert.match(filenameOf(answer), /^sessions-.*\.jsonl$/);
    }
  });

  test('detail: spans by default, traces without spans and links', async () => {
    for (const path of ['/sessions', SINGLE]) {
      const [spans, same, traces] = await Promise.all(
        ['', '?detail=spans', '?detail=traces'].map(
          async (query) => (await linesOf(await exported.ask(path + query)))[0],
        ),
      );
      assert.equal(spans, same);
      assert.equal([spans.links, spans.traces[0].spans], [[], []]);
      assert.equal([Object.keys(traces), Object.keys(traces.traces[0])], [['schema', 'session', 'traces'], ['trace']]);
    }
  });

  test('both answer application/x-ndjson as an attachment, under the promised name', async () => {
    for (const [path, name] of [
      ['/sessions', 'sessions-last-30-days-2026-11-21.jsonl'],
      ['/sessions?detail=traces', 'sessions-last-30-days-2026-11-21-traces.jsonl'],
      [`/sessions?since=${day(2)}&until=${day(5)}`, 'sessions-2026-11-02-to-2026-11-05.jsonl'],
      [`/sessions?since=${day(2)}`, 'sessions-2026-11-02-to-2026-11-21.jsonl'],
      [`/sessions?until=${day(5)}&detail=traces`, 'sessions-2026-10-22-to-2026-11-05-traces.jsonl'],
      [SINGLE, `session-${id}-2026-11-21.jsonl`],
      [`${SINGLE}?detail=traces`, `session-${id}-2026-11-21-traces.jsonl`],
      [SINGLE.toUpperCase().replace('SESSIONS', 'sessions'), `session-${id}-2026-11-21.jsonl`],
    ] as const) {
      const answer = await exported.ask(path);
      assert.equal([answer.status, answer.headers.get('content-type')], [200, 'application/x-ndjson'], path);
      assert.is(filenameOf(answer), name);
    }
  });

  const refused = async (path: string, status: number, code: string, given = {}) => {
    const answer = await exported.ask(path, given);
    const problem: Json = await answer.json();
    assert.equal(
      [answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')],
      [status, 'application/problem+json', null],
      path,
    );
    assert.equal([problem.status, problem.code, problem.error], [status, code, problem.detail]);
    return problem.error as string;
  };

  test('400: malformed since or until', async () => {
    for (const query of [
      'since=yesterday',
      'until=2026-11-20',
      'since=',
      'until=2026-11-20T10:00:00+02:00',
      `since=${day(1)}&since=${day(2)}`,
    ])
      assert.match(await refused(`/sessions?${query}`, 400, 'bad-request'), /^Cannot read the query: "(since|until)" /);
  });

  test('400: a parameter that the route has not, with the one that was meant', async () => {
    assert.is(
      await refused('/sessions?detial=traces', 400, 'bad-request'),
      'Cannot read the query: "detial" is no parameter here; did you mean "detail"?',
    );
    assert.match(await refused(`${SINGLE}?since=${day(1)}`, 400, 'bad-request'), '; there are detail');
  });

  test('400: an unrecognised detail, on both routes', async () => {
    for (const path of ['/sessions', SINGLE])
      for (const detail of ['full', 'SPANS', ''])
        assert.is(
          await refused(`${path}?detail=${detail}`, 400, 'bad-request'),
          'Cannot read the query: "detail" must be spans or traces',
        );
  });

  test('400: a missing or non-UUID id', async () => {
    for (const path of ['/sessions/', '/sessions/1', `/sessions/${id}0`, '/sessions/%7B%7D'])
      assert.is(await refused(path, 400, 'bad-request'), 'Cannot read the path: "id" must be the UUID of a session');
  });

  test('404: no session with that id', async () => {
    for (const unknown of [idOf('session', 99), '00000000-0000-0000-0000-000000000000'])
      await refused(`/sessions/${unknown}`, 404, 'session-unknown');
  });

  test('500: what is stored could not be loaded', async () => {
    const through = () => ({
      query: () => Promise.reject(new Error('secret')),
      // biome-ignore lint/correctness/useYield: it fails before
      async *stream(): AsyncGenerator<never> {
        throw new Error('secret');
      },
    });
    for (const path of ['/sessions', SINGLE])
      assert.not.match(await refused(path, 500, 'export-failed', { through }), 'secret');
  });

  test('what the bulk route sends is not cut at the session list cap of the read API', async () => {
    const many = Array.from({ length: 450 }, (_, n) => 1000 + n);
    await insertSessions(
      database(),
      many.map((n) => ({ n, last_seen_at: day(10) })),
    );
    await insertTraces(
      database(),
      many.map((n) => ({ n, session: n, started_at: day(10) })),
    );
    assert.is((await listedSessions('')).length, 455);
    await database().sql(`delete from svc.sessions where harness_session_id ~ '^harness-session-1\\d\\d\\d$'`);
    await database().sql(`delete from svc.traces where started_at = '${day(10)}'`);
  });

  test('which sessions and in which order is fixed when the export begins', async () => {
    const answer = await exported.ask('/sessions', {
      limits: { sessions: 1, rows: 1, storedBytes: 1, traces: 1, spans: 1, links: 1 },
    });
    await database().sql(`update svc.sessions set last_seen_at = '2026-11-21T11:00:00Z' where session_id = $1::uuid`, [
      id,
    ]);
    await insertSessions(database(), [{ n: 77, last_seen_at: day(21) }]);
    await insertTraces(database(), [{ n: 77, session: 77, started_at: day(21) }]);
    const lines = await linesOf(answer);
    assert.equal(
      lines.map(({ session }) => session.id),
      DAYS.map(([n]) => idOf('session', n)).reverse(),
    );
    await database().sql('delete from svc.traces where session_id = $1::uuid', [idOf('session', 77)]);
    await database().sql('update svc.sessions set last_seen_at = $2::timestamptz where session_id = $1::uuid', [
      id,
      day(1),
    ]);
  });

  test('HEAD has the head of GET and asks for no more than its beginning; other methods are 405 with Allow', async () => {
    for (const path of ['/sessions', SINGLE, '/sessions?since=x']) {
      const [get, head] = [await exported.ask(path), await exported.ask(path, {}, { method: 'HEAD' })];
      assert.equal([head.status, await head.text()], [get.status, '']);
      for (const name of ['content-type', 'content-disposition'])
        assert.is(head.headers.get(name), get.headers.get(name));
      const other = await exported.ask(path, {}, { method: 'POST' });
      assert.equal([other.status, other.headers.get('allow')], [405, 'GET, HEAD']);
    }
    assert.is((await exported.ask('/nothing')).status, 404);
  });
});

databaseSuite('export through the mount', (test, database) => {
  test('it is admitted with the grants that it asks for, and curl -OJ saves under the promised names', async () => {
    const now = new Date().toISOString();
    await insertSessions(database(), [{ n: 1, last_seen_at: now }]);
    await insertTraces(database(), [{ n: 1, session: 1, started_at: now }]);
    const stand = await standCassette(database(), { folder: 'export', manifest });
    const folder = await mkdtemp(join(tmpdir(), 'svc-export-'));
    const served = await serveApp({
      fetch: (request) => stand.ask(new URL(request.url).pathname + new URL(request.url).search),
      ...{ hosts: ['127.0.0.1'], port: 0, what: 'export' },
    });
    try {
      assert.is(stand.shown()?.state, 'admitted', JSON.stringify(stand.shown()?.trouble));
      for (const path of ['/sessions', '/sessions?detail=traces', SINGLE])
        await promisify(execFile)('curl', ['-sfOJ', `${served.addresses[0]}/v1/cassettes/export${path}`], {
          cwd: folder,
        });
      const today = now.slice(0, 10);
      assert.equal((await readdir(folder)).sort(), [
        `session-${id}-${today}.jsonl`,
        `sessions-last-30-days-${today}-traces.jsonl`,
        `sessions-last-30-days-${today}.jsonl`,
      ]);
      const missing = await stand.ask('/sessions/');
      assert.is(missing.status, 400, 'an id that is missing');
    } finally {
      await served.close(0);
      await stand.close();
      await rm(folder, { recursive: true });
    }
  });

  test('501: the cassette has no database configured, and is admitted all the same', async () => {
    const stand = await standCassette(database(), { folder: 'export', manifest, withDatabase: false });
    try {
      assert.is(stand.shown()?.state, 'admitted');
      for (const path of ['/sessions', SINGLE, `${SINGLE}?detail=traces`]) {
        const answer = await stand.ask(path);
        assert.equal([answer.status, (await answer.json()).code], [501, 'no-database']);
      }
    } finally {
      await stand.close();
    }
  });

  test('its contract tells every parameter and every status, and its answers are as it says', async () => {
    const stand = await standCassette(database(), { folder: 'export', manifest });
    try {
      const document: Document = await (await stand.ask('/openapi.json')).json();
      const operations = operationsOf(document);
      assert.equal(
        operations.map(({ method, path, parameters, responses }) => [
          `${method} ${path}`,
          parameters.map(({ name }) => name),
          Object.keys(responses).filter((status) => !['408', '431'].includes(status)),
        ]),
        [
          ['GET /v1/cassettes/export/sessions', ['since', 'until', 'detail'], ['200', '400', '500', '501']],
          ['GET /v1/cassettes/export/sessions/{id}', ['id', 'detail'], ['200', '400', '404', '500', '501']],
        ],
      );
      const check = schemaCheck(document);
      const refusals = [
        [0, '/sessions?since=x', 400],
        [1, `/sessions/${idOf('session', 99)}`, 404],
      ] as const;
      for (const [n, path, status] of refusals) {
        const problem = operations[n]?.responses[status]?.content?.['application/problem+json'];
        assert.is(check(problem?.schema ?? {}, await (await stand.ask(path)).json()), null);
      }
    } finally {
      await stand.close();
    }
  });
});
