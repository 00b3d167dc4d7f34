import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Db } from '../../../../core/cassette/contract.ts';
import { NO_PROGRESS } from '../../../../core/cassette/isolation/child/progress.mjs';
import { DatabaseError } from '../../../../core/errors.ts';
import { eventually } from '../../../support/eventually.ts';
import { withRowTexts } from '../../../support/row-texts.ts';
import { emptyFolder, withCassette } from '../../../support/started-cassette.ts';

const test = suite('process');

const MB = 1_048_576;

test('it says what it is before anything of it runs', async () => {
  await withCassette('friendly.mjs', {}, async ({ running }) => {
    assert.equal(running.loaded, {
      manifest: { kind: 'svc.cassette/v1', cassette: { name: 'friendly', version: '1.0.0' } },
      migrations: [{ name: '1', sql: 'create table t (a int)' }],
      scheduled: true,
    });
    assert.equal(running.liveness(), { state: 'up', reason: null, restarts: 0 });
  });
});

test('method, address, headers, status and cookies pass as they are', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, readJson }) => {
    const headers = { 'x-caller': 'someone', 'svc-operation': 'close' };
    assert.equal(await readJson('/told?a=%20b', { method: 'DELETE', headers }), {
      method: 'DELETE',
      url: 'http://localhost/told?a=%20b',
      headers: { 'x-caller': 'someone' },
    });
    const cookies = await ask('/cookies');
    assert.is(cookies.status, 204);
    assert.equal(cookies.headers.getSetCookie(), ['a=1', 'b=2']);
    assert.is((await ask('/nowhere')).status, 404);
    const head = await ask('/ping', { method: 'HEAD' });
    assert.is(head.status, 200);
    assert.is(await head.text(), '');
  });
});

test('a response without a body is whole, whatever its status', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask }) => {
    for (const status of [200, 201, 204, 303, 304, 401, 404, 500]) {
      const answer = await ask(`/bodyless?status=${status}`);
      assert.equal([answer.status, answer.headers.get('location')], [status, '/ping']);
      assert.is(await answer.text(), '', `${status}`);
    }
    const redirect = await ask('/redirect');
    assert.equal([redirect.status, await redirect.text()], [302, '']);
  });
});

test('100 MB stream in flat memory, and the first chunk comes long before the last is made', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, readJson }) => {
    const lines = 100_000;
    const answer = await ask(`/ndjson?lines=${lines}`);
    const reader = answer.body?.getReader();
    const before = process.memoryUsage().rss;
    let bytes = 0;
    let most = 0;
    let newlines = 0;
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      if (bytes === 0) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const { made } = await readJson('/made');
        assert.ok(Number(made) < 5_000, `${made} lines were made for a reader who had read one chunk`);
      }
      bytes += chunk.value.length;
      for (const byte of chunk.value) if (byte === 10) newlines += 1;
      most = Math.max(most, process.memoryUsage().rss);
    }
    assert.is(newlines, lines);
    assert.ok(bytes > 100 * 1_000_000);
    assert.ok(most - before < 80 * MB, `memory grew by ${Math.round((most - before) / MB)} MB`);
  });
});

test('50 MB are echoed byte by byte while they are sent', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask }) => {
    const [sent, received] = [createHash('sha256'), createHash('sha256')];
    let left = 800;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (left === 0) return controller.close();
          const chunk = new Uint8Array(65_536).fill(left % 251);
          sent.update(chunk);
          left -= 1;
          controller.enqueue(chunk);
        },
      },
      { highWaterMark: 0 },
    );
    const answer = await ask('/echo', { method: 'POST', body, duplex: 'half' } as RequestInit);
    assert.ok(left > 700, 'the answer began before the request was read');
    let bytes = 0;
    for await (const chunk of answer.body ?? []) {
      received.update(chunk);
      bytes += chunk.length;
    }
    assert.is(bytes, 800 * 65_536);
    assert.is(received.digest('hex'), sent.digest('hex'));
  });
});

test('one who refuses an upload ends it', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask }) => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel() {
        cancelled = true;
      },
    });
    const answer = await ask('/refuses', { method: 'POST', body, duplex: 'half' } as RequestInit);
    assert.is(answer.status, 413);
    assert.is(await answer.text(), 'no');
    await eventually(() => cancelled);
  });
});

test('an upload that breaks off never looks complete to the cassette', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask }) => {
    let sent = false;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          return controller.error(new Error('the caller has left'));
        }
        sent = true;
        controller.enqueue(new TextEncoder().encode('half'));
      },
    });
    const answer = ask('/echo', { method: 'POST', body, duplex: 'half' } as RequestInit).then((echo) => echo.text());
    assert.is(
      await answer.then(
        (text) => `whole: ${text}`,
        () => 'broken',
      ),
      'broken',
    );
  });
});

test('a stream of events comes event by event, and ends in the cassette when its reader leaves', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, readJson }) => {
    const answer = await ask('/events');
    assert.is(answer.headers.get('content-type'), 'text/event-stream');
    const reader = answer.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    assert.is(first, 'data: 0\n\n');
    await reader?.cancel();
    await eventually(async () => (await readJson('/made')).cancelled === 1);
  });
});

test('a caller who leaves aborts the request in the cassette', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, readJson }) => {
    const caller = new AbortController();
    const answer = ask('/hangs', { signal: caller.signal }).catch((error: unknown) => error);
    setTimeout(() => caller.abort(), 100);
    assert.is(((await answer) as Error).name, 'AbortError');
    await eventually(async () => (await readJson('/made')).aborted === 1);
  });
});

test('slow readers keep nobody waiting', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask }) => {
    const slow = await Promise.all(Array.from({ length: 20 }, () => ask('/ndjson?lines=10000')));
    assert.is(await (await ask('/ping')).text(), 'pong');
    for (const answer of slow) await answer.body?.cancel();
  });
});

test('a package with modules of both kinds among its dependencies loads, whatever stands above its folder', async () => {
  const folder = emptyFolder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('package.json', JSON.stringify({ name: 'two-kinds', type: 'module' }));
  write('node_modules/old/package.json', JSON.stringify({ name: 'old', main: 'lib' }));
  write('node_modules/old/lib/index.js', "module.exports = require('./kind');");
  write('node_modules/old/lib/kind.json', JSON.stringify({ kind: 'old' }));
  write('node_modules/new/package.json', JSON.stringify({ name: 'new', type: 'module', exports: './new.js' }));
  write('node_modules/new/new.js', "export const kind = 'new';");
  write(
    'entry.js',
    `import old from 'old'; import { kind } from 'new';
     export default { manifest: {}, fetch: () => Response.json([old.kind, kind]) };`,
  );
  await withCassette('friendly.mjs', { folder, module: { entry: join(folder, 'entry.js') } }, async ({ ask }) => {
    assert.equal(await (await ask('/')).json(), ['old', 'new']);
  });
});

test('many statements at a time take turns, also within the reading of rows', async () => {
  let running = 0;
  let most = 0;
  const DB = {
    async query() {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return { rows: [], row_count: 0 };
    },
    async *stream() {
      for (let n = 0; n < 3; n += 1) yield { n };
    },
  } as Db;
  await withCassette('friendly.mjs', { handed: { DB: withRowTexts(DB) } }, async ({ readJson }) => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => readJson('/rows-and-queries')));
    assert.ok(answers.every(({ queries }) => queries === 3));
    assert.ok(most > 1 && most <= 8, `${most} at a time`);
  });
});

test('it is handed what it was granted, and no more', async () => {
  const CORE = { fetch: async () => new Response('') };
  await withCassette('friendly.mjs', { handed: { CONFIG: { 'a.b': [1, 'two'] }, CORE } }, async ({ readJson }) => {
    assert.equal(await readJson('/env'), { has: ['CONFIG', 'CORE', 'LOG'], config: { 'a.b': [1, 'two'] } });
  });
  await withCassette('hostile.mjs', {}, async ({ readJson }) => {
    assert.equal(await readJson('/ungranted'), { has: ['CONFIG', 'LOG'] });
  });
});

const noRows = async function* (): AsyncGenerator<never> {};

test('a statement, its parameters as text, its rows and its error travel', async () => {
  const received: unknown[] = [];
  const DB = {
    async query(sql: string, parameters: readonly unknown[]) {
      received.push(sql, ...parameters);
      if (sql === 'fail') throw new DatabaseError('relation "t" does not exist', '42P01', false);
      return { rows: [{ n: 1 }], row_count: 1 };
    },
    stream: noRows,
  } as Db;
  await withCassette('friendly.mjs', { handed: { DB: withRowTexts(DB) } }, async ({ ask }) => {
    const post = (sql: string) =>
      ask('/query', { method: 'POST', body: JSON.stringify({ sql, parameters: [null, 'é'] }) });
    assert.equal(await (await post('select')).json(), { rows: [{ n: 1 }], row_count: 1 });
    assert.equal(received, ['select', null, 'é', '\\x01ff', '7', '1970-01-01T00:00:00.000Z', null]);
    assert.equal(await (await post('fail')).json(), {
      name: 'DatabaseError',
      message: 'relation "t" does not exist',
      sqlstate: '42P01',
      transient: false,
    });
  });
});

test('rows are streamed at the pace of the reader, and end when it stops or they fail', async () => {
  let made = 0;
  let ended = 0;
  const DB = {
    query: async () => ({ rows: [], row_count: 0 }),
    async *stream(_sql: string, [upTo = 0]: readonly unknown[] = []) {
      try {
        for (let n = 0; n < rows; n += 1) {
          made += 1;
          yield { n, pad: 'x'.repeat(500) };
          if (n === failAt) throw new DatabaseError('canceling statement', '57014', true);
        }
      } finally {
        ended += Number(upTo) + 1;
      }
    },
  } as Db;
  let rows = 50_000;
  let failAt = -1;
  await withCassette('friendly.mjs', { handed: { DB: withRowTexts(DB) } }, async ({ readJson }) => {
    assert.equal(await readJson('/rows'), { taken: rows, sum: (rows * (rows - 1)) / 2 });
    assert.is(ended, 1);
    made = 0;
    assert.equal(await readJson('/rows?take=3'), { taken: 3, sum: 3 });
    await eventually(() => ended === 2);
    assert.ok(made < 20_000, `${made} rows were made for three`);
    rows = 10;
    failAt = 4;
    assert.equal(await readJson('/rows'), { taken: 5, name: 'DatabaseError', message: 'canceling statement' });
  });
});

test('the read API is asked with method, headers and body, and its answer streams back', async () => {
  const CORE = {
    async fetch(input: string | Request) {
      const request = input as Request;
      const { pathname, search } = new URL(request.url);
      const echo = `${request.method} ${pathname}${search} ${request.headers.get('x-a')} ${await request.text()}`;
      return new Response(echo, { status: 201, headers: { 'x-core': 'yes' } });
    },
  };
  await withCassette('friendly.mjs', { handed: { CORE } }, async ({ ask }) => {
    const answer = await ask('/core', { method: 'POST', body: 'body' });
    assert.is(answer.status, 201);
    assert.is(answer.headers.get('x-core'), 'yes');
    assert.is(await answer.text(), 'POST /v1/sessions?limit=1 b body');
  });
});

test('an answer of the read API without a body is whole', async () => {
  const CORE = { fetch: async () => new Response(null, { status: 202 }) };
  await withCassette('friendly.mjs', { handed: { CORE } }, async ({ ask }) => {
    const answer = await ask('/core', { method: 'POST', body: 'body' });
    assert.equal([answer.status, await answer.text()], [202, '']);
  });
});

test('what it logs and prints comes to the log', async () => {
  await withCassette('friendly.mjs', {}, async ({ ask, lines }) => {
    await ask('/log');
    await eventually(() => lines.length === 3);
    const sorted = lines.toSorted((one, other) => (one.message < other.message ? -1 : 1));
    assert.equal(sorted, [
      { level: 'warn', fields: { output: 'stderr' }, message: 'complained' },
      { level: 'info', fields: { n: 1 }, message: 'hello' },
      { level: 'info', fields: { output: 'stdout' }, message: 'printed' },
    ]);
  });
});

test('background work runs, fails by its own words, and stops when it is told to', async () => {
  await withCassette('friendly.mjs', {}, async ({ running, lines }) => {
    const { signal } = new AbortController();
    await running.scheduled({ scheduled_at: 42, signal });
    await eventually(() => lines.some(({ fields }) => fields.scheduled_at === 42));
    const error = await running.scheduled({ scheduled_at: 0, signal }).catch((thrown: unknown) => thrown);
    assert.is((error as Error).message, 'nothing was due');
    const stop = new AbortController();
    const run = running.scheduled({ scheduled_at: 1, signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    await run;
    await eventually(() => lines.some(({ message }) => message === 'it stopped'));
  });
});

test('its last word on its progress is kept, and what is none fails where it is said', async () => {
  await withCassette('friendly.mjs', {}, async ({ running }) => {
    const { signal } = new AbortController();
    assert.is(running.progress(), null);
    await running.scheduled({ scheduled_at: 3, signal });
    await eventually(() => running.progress()?.done === 500);
    assert.equal(running.progress(), { done: 500, pending: 0, failed: 2 });
    const error = await running.scheduled({ scheduled_at: 2, signal }).catch((thrown: unknown) => thrown);
    assert.is((error as Error).message, NO_PROGRESS);
    assert.equal(running.progress(), { done: 500, pending: 0, failed: 2 });
  });
});

test.run();
