/** GET /v1/raw_turns/{raw_turn_id} and its bodies: what passed, whole, in ranges and decoded; never as a page that runs. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { Problem } from '../../../core/model/problem.ts';
import { RawTurnSides } from '../../../core/model/raw-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRawTurns, insertSessions } from '../../support/projection-rows.ts';
import { testApi } from '../../support/read-api.ts';
import { zstdStored } from '../../support/zstd-store.ts';

const TEXT = Buffer.from(`{"text":"ä😀\\u0000<script>alert(1)</script>${'x'.repeat(500)}"}`);
const NO_TEXT = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
const LARGE = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251));
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

type Headers = [string, string][];
const turns: { request: Buffer; response: Buffer | null; response_headers?: Headers }[] = [
  { request: TEXT, response: gzipSync(TEXT), response_headers: [['Content-Encoding', 'gzip']] },
  { request: NO_TEXT, response: null },
  {
    request: Buffer.from(''),
    response: Buffer.from(''),
    response_headers: [
      ['x-b', '2'],
      ['X-A', '1'],
      ['x-b', '3'],
    ],
  },
  { request: LARGE, response: Buffer.from('not brotli'), response_headers: [['content-encoding', 'br']] },
  { request: TEXT, response: gzipSync(NO_TEXT), response_headers: [['content-encoding', 'gzip']] },
  { request: TEXT, response: TEXT, response_headers: [['content-encoding', 'x-unknown']] },
  { request: TEXT, response: gzipSync(Buffer.alloc(51 * 2 ** 20)), response_headers: [['content-encoding', 'gzip']] },
];
const CODED: [string, Buffer][] = [
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdStored(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
  ['identity', TEXT],
];

databaseSuite('one raw turn', (test, database) => {
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    testApi({ execute: database().execute }).request(`/v1/raw_turns/${path}`, { headers, method });
  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
  const problemOf = async (response: Response) => {
    const { status, code } = Problem.parse(await response.json());
    assert.is(status, response.status);
    return [status, code];
  };
  let ids: number[] = [];
  const id = (n: number) => ids[n] ?? 0;

  test.before(async () => {
    await database().reset();
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    const coded = CODED.map(([coding, response]) => ({
      request: TEXT,
      response,
      response_headers: [['content-encoding', coding]] as Headers,
    }));
    ids = await insertRawTurns(
      database(),
      [...turns, ...coded].map((turn, i) => ({ session: 1, seq: i + 1, ...turn })),
    );
  });

  test('its facts come with the headers of both sides and the digests of what passed, without bytes', async () => {
    const whole = RawTurnSides.parse(await (await ask(`${id(0)}`)).json());
    const { items } = (await (
      await testApi({ execute: database().execute }).request(`/v1/sessions/${idOf('session', 1)}/raw_turns?limit=1`)
    ).json()) as { items: object[] };
    const { request, response, ...head } = whole;
    assert.equal(head, items[0]);
    const headers: Headers = [['content-type', 'application/json']];
    assert.equal(request, { headers, headers_digest: sha256(JSON.stringify(headers)), digest: sha256(TEXT) });
    assert.equal([response?.content_encoding, response?.digest], ['gzip', sha256(gzipSync(TEXT))]);
    assert.not.ok('response' in RawTurnSides.parse(await (await ask(`${id(1)}`)).json()));
    const { response: third } = RawTurnSides.parse(await (await ask(`${id(2)}`)).json());
    assert.equal(third?.headers, turns[2]?.response_headers);
  });

  test('bytes are saved as they passed, and never shown as a page', async () => {
    for (const [n, { request, response }] of turns.entries())
      for (const [side, expected] of [
        ['request', request],
        ['response', response],
      ] as const) {
        const answer = await ask(`${id(n)}/${side}`);
        if (expected === null) {
          assert.equal(await problemOf(answer), [404, 'raw-turn-unanswered']);
          continue;
        }
        assert.is(answer.status, 200);
        assert.equal(
          [
            'content-type',
            'content-disposition',
            'content-security-policy',
            'x-content-type-options',
            'accept-ranges',
          ].map((name) => answer.headers.get(name)),
          [
            'application/octet-stream',
            `attachment; filename="raw-turn-${id(n)}-${side}.bin"`,
            "default-src 'none'; sandbox",
            'nosniff',
            'bytes',
          ],
        );
        assert.is(answer.headers.get('content-length'), String(expected.byteLength));
        assert.ok((await bytesOf(answer)).equals(expected), `${side} ${n}`);
      }
  });

  test('text is decoded from any coding, and stays plain text', async () => {
    for (const n of [0, ...CODED.keys()].map((at, i) => (i === 0 ? 0 : turns.length + at))) {
      const answer = await ask(`${id(n)}/response?as=decoded`, { 'accept-encoding': 'gzip, br' });
      assert.equal(
        ['content-type', 'content-disposition', 'content-security-policy', 'content-encoding'].map((name) =>
          answer.headers.get(name),
        ),
        ['text/plain; charset=utf-8', null, "default-src 'none'; sandbox", null],
      );
      assert.ok((await bytesOf(answer)).equals(TEXT), `turn ${n}`);
    }
    const binary = await ask(`${id(4)}/response?as=decoded`);
    assert.is(binary.headers.get('content-type'), 'application/octet-stream');
    assert.ok((await bytesOf(binary)).equals(NO_TEXT));
    assert.is((await bytesOf(await ask(`${id(2)}/response?as=decoded`))).byteLength, 0);
  });

  test('what cannot be decoded, or would be too large, is refused and still there as bytes', async () => {
    for (const n of [3, 5, 6]) {
      assert.equal(await problemOf(await ask(`${id(n)}/response?as=decoded`)), [422, 'body-undecodable'], `turn ${n}`);
      assert.is((await ask(`${id(n)}/response`)).status, 200);
    }
  });

  test('a range is answered with those bytes, of what was decoded too', async () => {
    const last = LARGE.byteLength - 1;
    for (const [range, first, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=10-99', 10, 99],
      ['bytes=70000-200000', 70_000, 200_000],
      ['bytes=299999-', last, last],
      ['bytes=5-9999999', 5, last],
      ['bytes=-3', last - 2, last],
      ['bytes=-9999999', 0, last],
    ] as const) {
      const answer = await ask(`${id(3)}/request`, { range });
      assert.equal([answer.status, answer.headers.get('content-range')], [206, `bytes ${first}-${end}/${last + 1}`]);
      assert.ok((await bytesOf(answer)).equals(LARGE.subarray(first, end + 1)), range);
    }
    const decoded = await ask(`${id(0)}/response?as=decoded`, { range: 'bytes=2-5' });
    assert.equal([decoded.status, await decoded.text()], [206, 'text']);
    for (const range of ['bytes=300000-', 'bytes=-0']) {
      const answer = await ask(`${id(3)}/request`, { range });
      assert.is(answer.headers.get('content-range'), 'bytes */300000');
      assert.equal(await problemOf(answer), [416, 'range-unsatisfiable']);
    }
    for (const range of ['bytes=9-1', 'bytes=1-2,4-5', 'lines=1-2', 'bytes=', 'bytes=-', 'x'])
      assert.is((await bytesOf(await ask(`${id(3)}/request`, { range }))).byteLength, 300_000, range);
  });

  test('a range of another body than the one named is not cut', async () => {
    const etag = (await ask(`${id(0)}/response`)).headers.get('etag') ?? '';
    const decodedEtag = (await ask(`${id(0)}/response?as=decoded`)).headers.get('etag');
    assert.is.not(etag, decodedEtag);
    const range = 'bytes=0-1';
    assert.is((await ask(`${id(0)}/response`, { range, 'if-range': etag })).status, 206);
    assert.is((await ask(`${id(0)}/response?as=decoded`, { range, 'if-range': etag })).status, 200);
  });

  test('HEAD has the headers of GET, ranges apart, and no body', async () => {
    const answer = await ask(`${id(3)}/request`, { range: 'bytes=0-1' }, 'HEAD');
    assert.equal([answer.status, answer.headers.get('content-length')], [200, '300000']);
    assert.is((await bytesOf(answer)).byteLength, 0);
  });

  test('bodies take a slot of the payload reads until they are read, and give it back', async () => {
    const app = testApi({ execute: database().execute });
    for (let n = 0; n < 20; n++) {
      const answer = await app.request(`/v1/raw_turns/${id(3)}/request`);
      if (n % 2) await answer.arrayBuffer();
      else await answer.body?.cancel();
      const head = await app.request(`/v1/raw_turns/${id(3)}/request`, { method: 'HEAD' });
      assert.is(head.status, 200);
    }
    const held = await Promise.all(Array.from({ length: 8 }, () => app.request(`/v1/raw_turns/${id(3)}/request`)));
    const late = app.request(`/v1/raw_turns/${id(3)}/response`);
    assert.is((await Promise.race([late, new Promise((done) => setTimeout(done, 100))])) ?? 'waits', 'waits');
    await held[0]?.body?.cancel();
    assert.is((await late).status, 200);
    for (const one of held.slice(1)) await one.body?.cancel();
  });

  test('another thread decodes where there is one', async () => {
    const calls: unknown[] = [];
    const app = testApi({
      execute: database().execute,
      decode: async (bytes, coding) => {
        calls.push([bytes.byteLength, coding]);
        return Buffer.from('decoded elsewhere');
      },
    });
    const answer = await app.request(`/v1/raw_turns/${id(0)}/response?as=decoded`);
    assert.is(await answer.text(), 'decoded elsewhere');
    assert.equal(calls, [[gzipSync(TEXT).byteLength, 'gzip']]);
  });

  test('what is no number, unknown, or of a deleted session is not found', async () => {
    for (const none of ['0', '-1', '1.5', '01', 'x', '9'.repeat(16), '9999999'])
      for (const path of ['', '/request', '/response']) assert.is((await ask(`${none}${path}`)).status, 404, none);
    assert.is((await ask(`${id(0)}/request?as=html`)).status, 400);
    const [other = 0] = await insertRawTurns(database(), [{ session: 2, seq: 1, request: TEXT, response: TEXT }]);
    assert.is((await ask(`${other}`)).status, 200);
    await database().execute('deleteSession', { session_id: idOf('session', 2) });
    for (const path of ['', '/request', '/response'])
      assert.equal(await problemOf(await ask(`${other}${path}`)), [404, 'raw-turn-unknown']);
  });
});
