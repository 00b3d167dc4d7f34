/** A session of any size streams: in pages, begun before the last is read, and never in memory whole. */
import * as assert from 'uvu/assert';
import { collect } from '../../../core/collect-garbage.ts';
import type { Database } from '../../../core/db/database.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertSessions } from '../../support/projection-rows.ts';
import { testApi } from '../../support/read-api.ts';
import '../../support/with-gc.ts';

const SPANS = 10_000;
const TRACES = 100;
const TEXT_CHARACTERS = 12_000; // so that all of it is 120 MB, twice what may be held
const MOST_BYTES = 64 * 1024 * 1024;

/** What is alive on the heap and in buffers. */
const held = (): number => {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

databaseSuite('streams of the read API', (test, database) => {
  const session_id = idOf('session', 1);
  const path = `/v1/sessions/${session_id}/traces`;

  test.before(async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await database().sql(
      `insert into svc.traces (trace_id, session_id, started_at, span_count)
       select (left($2, 4) || lpad(n::text, 4, '0') || substr($2, 9))::uuid, $1::uuid, timestamptz '2026-07-27T10:00:00Z' + n * interval '1 second', ${SPANS / TRACES}
         from generate_series(1, ${TRACES}) n`,
      [session_id, idOf('trace', 0)],
    );
    await database().sql(
      `insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, started_at, output)
       select (left($2, 4) || lpad((1 + n % ${TRACES})::text, 4, '0') || substr($2, 9))::uuid, md5('span' || n)::uuid, $1::uuid, n / ${TRACES}, 'tool', 'read_file',
              timestamptz '2026-07-27T10:00:00Z', jsonb_build_array(jsonb_build_object(
                'type', 'tool_result', 'tool_use_id', 'call_' || n, 'tool_output', repeat(md5(n::text), ${TEXT_CHARACTERS / 32})))
         from generate_series(0, ${SPANS - 1}) n`,
      [session_id, idOf('trace', 0)],
    );
  });

  /** The API, and the pages of spans that were asked for through it. */
  const counted = () => {
    const requested = { pages: 0 };
    const execute = (async (name: string, args: never) => {
      if (name === 'spansOf') requested.pages++;
      return database().execute(name as 'ping', args);
    }) as unknown as Database['execute'];
    return { api: testApi({ execute }), requested };
  };

  /** Reads all of it, and looks up every few megabytes; counts spans by what each begins with. */
  const readAll = async (response: Response, look: () => void) => {
    const reader = response.body?.getReader();
    let [bytes, spans, tail] = [0, 0, ''];
    for (let looked = 0; ; ) {
      const chunk = await reader?.read();
      if (!chunk?.value) return { bytes, spans };
      bytes += chunk.value.byteLength;
      const text =
        tail + Buffer.from(chunk.value.buffer, chunk.value.byteOffset, chunk.value.byteLength).toString('latin1');
      spans += text.split('"span_id":').length - 1;
      tail = text.slice(-'"span_id":'.length + 1);
      if (bytes - looked < 4_000_000) continue;
      looked = bytes;
      await new Promise((done) => setTimeout(done, 2)); // a reader that is slower than we are
      look();
    }
  };

  for (const payload of ['full', 'preview'])
    test(`${SPANS} spans, payload=${payload}: the first byte leaves before the last row is read, and little is held`, async () => {
      const { api, requested } = counted();
      const before = held();
      const response = await api.request(`${path}?payload=${payload}`);
      assert.is(response.status, 200);
      const first = requested.pages;
      let [most, looks] = [0, 0];
      const { bytes, spans } = await readAll(response, () => {
        most = Math.max(most, held() - before);
        looks++;
      });
      assert.is(spans, SPANS);
      assert.ok(payload === 'preview' || bytes > 1.5 * MOST_BYTES, `${bytes} bytes`);
      assert.ok(requested.pages >= SPANS / 500, `${requested.pages} pages`);
      assert.ok(first <= 2, `${first} of ${requested.pages} pages were asked for before the head left`);
      assert.ok(looks > 0 && most < MOST_BYTES, `${most} bytes were held`);
    });

  test('a reader that stops taking is not read ahead of', async () => {
    const { api, requested } = counted();
    const reader = (await api.request(`${path}?payload=full`)).body?.getReader();
    await reader?.read();
    await new Promise((done) => setTimeout(done, 100));
    const then = requested.pages;
    assert.ok(then <= 2, `${then} pages`);
    await new Promise((done) => setTimeout(done, 100));
    assert.is(requested.pages, then);
    await reader?.cancel();
    assert.is(requested.pages, then, 'and nothing more once it has left');
  });

  test('nine readers of payloads at once: eight are served, the ninth may come again; others are not in its way', async () => {
    const { api } = counted();
    const trace = `/v1/traces/${idOf('trace', 1)}`;
    const paths = [path, trace, `${path}?payload=preview`, `/v1/sessions/${session_id}/raw_turns?include=payload`];
    const readers = await Promise.all(Array.from({ length: 8 }, () => api.request(path)));
    for (const { status } of readers) assert.is(status, 200);
    for (const one of [...paths, `${trace}/spans/${idOf('session', 2)}`]) {
      const refused = await api.request(one);
      assert.equal([refused.status, refused.headers.get('retry-after')], [503, '1'], one);
    }
    for (const one of ['/ping', '/v1/sessions', `/v1/sessions/${session_id}`, `/v1/sessions/${session_id}/raw_turns`])
      assert.is((await api.request(one)).status, 200, one);
    await readers.pop()?.body?.cancel();
    const again = await api.request(path);
    assert.is(again.status, 200);
    await Promise.all([again, ...readers].map((response) => response.body?.cancel()));
    for (const one of paths) {
      const response = await api.request(one);
      assert.is(response.status, 200, one);
      await response.body?.cancel();
    }
  });
});
