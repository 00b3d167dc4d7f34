/** GET /v1/events over a socket: what is told, to whom, for how long, and what it costs when nobody listens. */
import * as assert from 'uvu/assert';
import { type ReadApi, readContract } from '../../../core/api/app.ts';
import { type EventFeed, eventFeed } from '../../../core/api/event-feed.ts';
import { eventsApp } from '../../../core/api/events.ts';
import type { Database } from '../../../core/db/database.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { onError } from '../../../core/http/failure.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { routes } from '../../../core/http/routes.ts';
import { openLog } from '../../../core/log.ts';
import { Event } from '../../../core/model/event.ts';
import { Problem } from '../../../core/model/problem.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { type EventReader, readEvents } from '../../support/event-reader.ts';
import { eventually } from '../../support/eventually.ts';
import { type Document, operationsOf, resolved, schemaCheck } from '../../support/openapi-fuzz/document.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const log = openLog('silent');
const now = () => Date.parse('2026-07-27T10:00:00Z');
const sessionId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Stores or touches sessions as a commit that changes them does. */
async function change(database: TestDatabase, ...numbers: number[]): Promise<void> {
  const ids = `{${numbers.map(sessionId).join(',')}}`;
  await database.sql(
    `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
     select s, 'h', s, '', now(), now() from unnest($1::uuid[]) s on conflict (session_id) do nothing`,
    [ids],
  );
  await note(database, ids);
}

const note = (database: TestDatabase, ids: string) =>
  database.sql(
    `insert into svc.session_changes (session_id) select unnest($1::uuid[])
     on conflict (session_id) do update set changed_by = excluded.changed_by`,
    [ids],
  );

/** The database, with somebody who hears each question first and may throw. */
const overhearing = (database: Database, heard: (name: string) => void): Database['execute'] =>
  (async (name, args) => {
    heard(name);
    return database.execute(name, args);
  }) as Database['execute'];

type Stand = {
  url: string;
  feed: EventFeed;
  hear(headers?: Record<string, string>, query?: string): Promise<EventReader>;
};

/** The route alone, on a socket, with limits of the test's own. */
async function serving(
  execute: Database['execute'],
  work: (stand: Stand) => Promise<void>,
  limits = { pollMs: 10, pingMs: 60_000, readers: 100 },
  stopping?: AbortSignal,
): Promise<void> {
  const feed = eventFeed({ execute, now, log, stopping, limits });
  const app = routes();
  app.route('/', eventsApp({ execute, now, log, feed }));
  app.onError(onError(log));
  const served = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'events' });
  const url = `${served.addresses[0]}/v1/events`;
  const hear = (headers: Record<string, string> = {}, query = '') => readEvents(`${url}${query}`, headers);
  try {
    await work({ url, feed, hear });
  } finally {
    await served.close(0);
  }
}

const idsOf = (event: Event | null): string =>
  event?.event === 'session' ? event.data.session.id : event?.event === 'session_deleted' ? event.data.session_id : '';

databaseSuite('GET /v1/events', (test, database) => {
  test.before.each(() => database().reset());

  test('a changed session is told as GET /v1/sessions/{id} shows it, a deleted one as gone', async () => {
    const api = testApi({ execute: database().execute, now } as Partial<ReadApi>);
    const served = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
    const reader = await readEvents(`${served.addresses[0]}/v1/events`);
    try {
      assert.is(reader.status, 200);
      assert.is(reader.headers['content-type'], 'text/event-stream');
      assert.is(reader.headers['cache-control'], 'no-store');
      const first = await reader.nextOfAny();
      assert.is(first?.event, 'ping', 'it begins with the place it begins at');
      assert.is(reader.retry(), 1000);
      await change(database(), 1);
      const event = Event.parse(await reader.next());
      const shown = (await (await api.request(`/v1/sessions/${sessionId(1)}`)).json()) as Json;
      assert.equal(event.data, shown);
      await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1, now())', [sessionId(1)]);
      await change(database(), 1);
      const gone = Event.parse(await reader.next());
      assert.equal([gone.event, gone.data], ['session_deleted', { session_id: sessionId(1) }]);
      assert.is.not(gone.id, event.id);
    } finally {
      reader.leave();
      await served.close(0);
    }
  });

  test('each event is what the schema of the stream says of one', async () => {
    const document = readContract('0') as unknown as Document;
    const { schema } = operationsOf(document).find(({ operationId }) => operationId === 'readEvents')?.responses[200]
      ?.content?.['text/event-stream'] ?? { schema: undefined };
    const described = resolved(document, schema ?? {}).oneOf as Json[];
    const check = schemaCheck(document);
    await serving(database().execute, async ({ hear }) => {
      const reader = await hear();
      await change(database(), 1);
      const events = [await reader.nextOfAny(), await reader.next()];
      await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1, now())', [sessionId(1)]);
      await change(database(), 1);
      events.push(await reader.next());
      assert.equal(
        events.map((event) => event?.event),
        ['ping', 'session', 'session_deleted'],
      );
      for (const event of events) {
        const { data, ...rest } = event as Event;
        assert.is(check(schema ?? {}, { ...rest, data: JSON.stringify(data) }), null, event?.event);
        const one = described.find(({ properties }) =>
          [properties.event.enum, properties.event.const].flat().includes(rest.event),
        );
        assert.is(one.properties.data.contentMediaType, 'application/json');
        assert.is(check(one.properties.data.contentSchema, data), null, event?.event);
        assert.is.not(check(one.properties.data.contentSchema, 7), null, event?.event);
      }
      reader.leave();
    });
  });

  test('renaming, deleting and purging a session are told', async () => {
    await change(database(), 1, 2);
    const api = testApi({ execute: database().execute, now });
    const served = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
    const reader = await readEvents(`${served.addresses[0]}/v1/events`);
    const act = async (method: string, path: string, body?: object) => {
      const sent = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
      const answer = await api.request(path, { method, ...sent });
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
    };
    try {
      await reader.nextOfAny();
      const path = `/v1/sessions/${sessionId(1)}`;
      await act('PATCH', path, { display_name: 'A name' });
      const renamed = await reader.next();
      assert.equal([idsOf(renamed), renamed?.event], [sessionId(1), 'session']);
      assert.is(renamed?.event === 'session' && renamed.data.session.display_title, 'A name');
      await act('DELETE', path);
      const deleted = await reader.next();
      assert.equal([idsOf(deleted), deleted?.event], [sessionId(1), 'session_deleted']);
      await act('POST', `/v1/admin/sessions/${sessionId(2)}/purge`);
      const purged = await reader.next();
      assert.equal([idsOf(purged), purged?.event], [sessionId(2), 'session_deleted']);
    } finally {
      reader.leave();
      await served.close(0);
    }
  });

  test('without an id it begins now; with 0 it tells every session there is', async () => {
    await change(database(), 1, 2);
    await serving(database().execute, async ({ hear }) => {
      const fromNow = await hear();
      const all = await hear({}, '?after=0');
      const same = await hear({ 'last-event-id': '0' });
      for (const reader of [all, same]) {
        assert.equal([idsOf(await reader.next()), idsOf(await reader.next())], [sessionId(1), sessionId(2)]);
      }
      await fromNow.nextOfAny();
      await change(database(), 3);
      for (const reader of [fromNow, all, same]) {
        assert.is(idsOf(await reader.next()), sessionId(3));
        reader.leave();
      }
    });
  });

  test('after a cut at any event it goes on with the next one, through the header as well as the query', async () => {
    await change(database(), 1, 2, 3);
    await serving(database().execute, async ({ hear }) => {
      const whole = await hear({ 'last-event-id': '0' });
      const events = [await whole.nextOfAny(), await whole.next(), await whole.next(), await whole.next()];
      whole.leave();
      await change(database(), 4);
      for (const [i, event] of events.entries()) {
        const id = event?.id ?? '';
        const ways = [
          await hear({ 'last-event-id': id }),
          await hear({}, `?after=${encodeURIComponent(id)}`),
          await hear({ 'last-event-id': id }, '?after=0'),
        ];
        for (const reader of ways) {
          const heard: string[] = [];
          for (let n = i; n < 4; n += 1) heard.push(idsOf(await reader.next()));
          assert.equal(heard, [1, 2, 3, 4].slice(i).map(sessionId));
          reader.leave();
        }
      }
    });
  });

  test('an id that this database cannot have given begins anew, and says so', async () => {
    await change(database(), 1);
    await serving(database().execute, async ({ hear }) => {
      const own = await hear();
      const id = (await own.nextOfAny())?.id ?? '';
      own.leave();
      const [life = '', seen = ''] = id.split('/');
      const ahead = seen.replace(/^(\d+):(\d+):/, (_, least, most) => `${least}:${Number(most) + 1_000_000}:`);
      for (const foreign of [`1.1/${seen}`, `${life}/${ahead}`]) {
        const reader = await hear({ 'last-event-id': foreign });
        const first = await reader.nextOfAny();
        assert.is(first?.event, 'reset');
        await change(database(), 2);
        assert.is(idsOf(await reader.next()), sessionId(2), 'nothing of before');
        reader.leave();
      }
    });
  });

  test('an id that is none is refused; none of them reaches the database', async () => {
    await serving(database().execute, async ({ url }) => {
      for (const id of ['x', '1.1/9:3:', '1.1/3:9:2', "1.1/'", '-', '1.1/3:9:/3:9:/1']) {
        const answer = await fetch(`${url}?after=${encodeURIComponent(id)}`);
        assert.is(answer.status, 400, id);
        assert.is(Problem.parse(await answer.json()).code, 'bad-request');
        assert.is((await fetch(url, { headers: { 'last-event-id': id } })).status, 400, id);
      }
    });
  });

  test('HEAD has the head and no reader', async () => {
    await serving(
      database().execute,
      async ({ url, hear }) => {
        const answer = await fetch(url, { method: 'HEAD' });
        assert.equal([answer.status, answer.headers.get('content-type')], [200, 'text/event-stream']);
        const reader = await hear();
        assert.is(reader.status, 200, 'there is room for one, and HEAD has not taken it');
        reader.leave();
      },
      { pollMs: 10, pingMs: 60_000, readers: 1 },
    );
  });

  test('it asks for the token', async () => {
    const api = testApi({ execute: database().execute, token: 'a-long-enough-token' });
    const served = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
    try {
      const url = `${served.addresses[0]}/v1/events`;
      assert.is((await fetch(url)).status, 401);
      const reader = await readEvents(url, { authorization: 'Bearer a-long-enough-token' });
      assert.is(reader.status, 200);
      reader.leave();
    } finally {
      await served.close(0);
    }
  });

  test('one reader too many is told to come back; when one leaves there is room again', async () => {
    await serving(
      database().execute,
      async ({ url, hear, feed }) => {
        const readers = [await hear(), await hear()];
        for (const reader of readers) await reader.nextOfAny();
        const refused = await fetch(url);
        assert.is(refused.status, 503);
        assert.is(refused.headers.get('retry-after'), '1');
        assert.is(Problem.parse(await refused.json()).code, 'too-many-readers');
        readers[0]?.leave();
        await eventually(() => !feed.isFull());
        const next = await hear();
        assert.is((await next.nextOfAny())?.event, 'ping');
      },
      { pollMs: 10, pingMs: 60_000, readers: 2 },
    );
  });

  test('while nobody listens nothing is asked and no timer runs; readers that wait for the same are told by one question', async () => {
    let queries = 0;
    const execute = overhearing(database(), (name) => {
      if (name === 'sessionChanges') queries += 1;
    });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const feed = eventFeed({ execute, now, log, limits: { pollMs: 10, pingMs: 60_000, readers: 10 } });
    const { life, seen } = await database().execute('changesNow', {});
    const from = { life, place: { seen, round: null }, crossing: 0 };
    const before = timers();
    const streams = Array.from({ length: 5 }, () => feed.stream(from, 'ping'));
    assert.equal([queries, timers()], [0, before], 'nobody reads yet');
    const readers = streams.map((stream) => stream.getReader());
    for (const reader of readers) await reader.read();
    assert.is(timers(), before + 1);
    await change(database(), 1);
    const heard = Promise.all(readers.map((reader) => reader.read()));
    await heard;
    await eventually(() => queries > 0);
    queries = 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const rounds = queries; // all five are hungry, and cost one question a round
    assert.ok(rounds <= 12, `${rounds} questions in ten rounds`);
    for (const reader of readers) await reader.cancel();
    assert.is(timers(), before);
    queries = 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(queries <= 1, 'one may have been under way');
    assert.not(feed.isFull());
  });

  test('a client that leaves takes its reader along', async () => {
    let queries = 0;
    const execute = overhearing(database(), () => {
      queries += 1;
    });
    await serving(
      execute,
      async ({ hear, feed }) => {
        const reader = await hear();
        await reader.nextOfAny();
        assert.ok(feed.isFull());
        reader.leave();
        await eventually(() => !feed.isFull());
        const before = queries;
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.ok(queries <= before + 1);
      },
      { pollMs: 10, pingMs: 60_000, readers: 1 },
    );
  });

  test('a reader that stops reading is asked for no more, keeps nobody waiting, and misses nothing', async () => {
    const many = Array.from({ length: 400 }, (_, i) => i + 1);
    await change(database(), ...many);
    await database().sql(
      `insert into svc.session_rollups (session_id, derive_version, harness_metadata)
       select session_id, 1, json_build_object('filling', repeat('x', 20000)) from svc.sessions`,
    );
    let pages = 0;
    const execute = overhearing(database(), (name) => {
      if (name === 'sessionChanges') pages += 1;
    });
    await serving(execute, async ({ hear }) => {
      const slow = await hear({ 'last-event-id': '0' });
      slow.pause();
      let last = -1;
      await eventually(async () => {
        const before = pages;
        await new Promise((resolve) => setTimeout(resolve, 200));
        const still = pages === before && pages === last;
        last = pages;
        return still;
      });
      const taken = pages;
      const quick = await hear();
      await quick.nextOfAny();
      await change(database(), 500);
      assert.is(idsOf(await quick.next()), sessionId(500));
      quick.leave();
      slow.resume();
      const heard = new Set<string>();
      while (heard.size < 401) {
        const id = idsOf(await slow.next());
        assert.not(heard.has(id), 'told twice');
        heard.add(id);
      }
      assert.ok(pages > taken, 'the rest was asked for when it could be taken');
      slow.leave();
    });
  });

  test('a ping goes out when nothing else does, with the place to resume at', async () => {
    await serving(
      database().execute,
      async ({ hear }) => {
        const reader = await hear();
        await change(database(), 1);
        assert.is(idsOf(await reader.next()), sessionId(1));
        const later = await reader.nextOfAny();
        assert.is(later?.event, 'ping');
        reader.leave();
        await change(database(), 2);
        const again = await hear({ 'last-event-id': later?.id ?? '' });
        assert.is(idsOf(await again.next()), sessionId(2));
        again.leave();
      },
      { pollMs: 10, pingMs: 30, readers: 10 },
    );
  });

  test('a database that is away does not end the stream', async () => {
    let away = false;
    let failed = 0;
    const execute = overhearing(database(), () => {
      if (!away) return;
      failed += 1;
      throw new DatabaseError('Cannot ask the database: it is away', '', true);
    });
    await serving(execute, async ({ url, hear }) => {
      const reader = await hear();
      await reader.nextOfAny();
      away = true;
      await eventually(() => failed > 2);
      assert.is((await fetch(url)).status, 503, 'who comes meanwhile is told');
      await change(database(), 1);
      away = false;
      assert.is(idsOf(await reader.next()), sessionId(1));
      reader.leave();
    });
  });

  test('what is not the database being away ends the streams', async () => {
    let broken = false;
    const execute = overhearing(database(), () => {
      if (broken) throw new Error('a bug');
    });
    await serving(execute, async ({ hear }) => {
      const reader = await hear();
      await reader.nextOfAny();
      broken = true;
      assert.is(await reader.next(), null);
    });
  });

  test('the stream ends when the service stops', async () => {
    const stopping = new AbortController();
    await serving(
      database().execute,
      async ({ hear }) => {
        const reader = await hear();
        await reader.nextOfAny();
        stopping.abort();
        assert.is(await reader.next(), null);
        const late = await hear();
        assert.is(await late.nextOfAny(), null);
      },
      { pollMs: 10, pingMs: 60_000, readers: 10 },
      stopping.signal,
    );
  });
});
