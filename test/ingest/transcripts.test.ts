/** POST /v1/ingest/transcript before an `append` of the test: what it answers, counts, logs and promises. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DatabaseError } from '../../core/errors.ts';
import { MAX_INGEST_BYTES } from '../../core/model/ingest.ts';
import type { TranscriptVerdict } from '../../core/model/transcript-upload.ts';
import { ingestContract } from '../../ingest/app.ts';
import { operationsOf } from '../support/openapi-fuzz/document.ts';
import type { Json } from '../support/read-api.ts';
import { KEPT_TRANSCRIPT, SIZE_ANSWER, type Stand, serveIngest, standIngest, writes } from './stand.ts';

const test = suite('ingest of transcripts');

const PATH = '/v1/ingest/transcript';
const SECRET = 'my secret record';
const json = { 'content-type': 'application/json' };

const post = ({ app }: Stand, headers: Record<string, string> = {}, body = `{"records":["${SECRET}"]}`) =>
  app.request(PATH, { method: 'POST', body, headers: { ...json, ...headers } });

const says = (verdict: TranscriptVerdict) => standIngest({ appendTranscript: async () => verdict });
const fails = (thrown: unknown) => standIngest({ appendTranscript: () => Promise.reject(thrown) });
const { summary, session_id } = KEPT_TRANSCRIPT;

test('an upload that is kept is answered 202 with how many records came and where it stands', async () => {
  const stand = standIngest();
  const response = await post(stand);
  assert.equal(
    [response.status, await response.json()],
    [
      202,
      {
        ...{ status: 'accepted', deduped: false, records: 5, session_id, raw_turn_id: 13 },
        agent_id: 'a9b2a396fff8564e8',
      },
    ],
  );
  assert.is(Buffer.from(stand.taken[0]?.body ?? []).toString(), `{"records":["${SECRET}"]}`);
  assert.is(await writes(stand, 'accepted', 'transcript'), 1);
  assert.is(await stand.value('svc_ingest_body_bytes_count{provider="transcript"}'), 1);
  assert.is(await stand.value('svc_ingest_write_seconds_count'), 1);
});

test('the main file names no agent; a part is named again', async () => {
  const part = { index: 1, count: 3, file_sha256: 'ab'.repeat(32), from_line: 100 };
  const main = { ...KEPT_TRANSCRIPT, summary: { ...summary, main: true, agent_id: '', part } };
  assert.equal(await (await post(says(main))).json(), {
    ...{ status: 'accepted', deduped: false, records: 5, session_id, raw_turn_id: 13 },
    part,
  });
});

test('unchanged content is 202, too, and said to be there already', async () => {
  const stand = says({ ...KEPT_TRANSCRIPT, deduped: true });
  const response = await post(stand);
  assert.equal([response.status, ((await response.json()) as Json).deduped], [202, true]);
  assert.equal([await writes(stand, 'duplicate', 'transcript'), await writes(stand, 'accepted', 'transcript')], [1, 0]);
  assert.is(await stand.value('svc_ingest_body_bytes_count{provider="transcript"}'), 0);
});

test('every rejection is one sentence in `error`, counted, and without a word of the records, in the log as well', async () => {
  const oversize = { 'content-length': String(MAX_INGEST_BYTES + 1) };
  const no = 'Cannot read the transcript: no';
  for (const [status, stand, headers, counted, provider] of [
    [400, says({ kind: 'malformed', error: no }), {}, 'reject_envelope', 'transcript'],
    [403, standIngest(), { origin: 'http://evil.example' }, '', ''],
    [409, says({ kind: 'incomplete', error: no }), {}, 'reject_incomplete', 'transcript'],
    [410, says({ kind: 'purged', error: no }), {}, 'reject_purged', 'transcript'],
    [413, standIngest(), oversize, 'reject_oversize', 'unknown'],
    [415, standIngest(), { 'content-type': 'text/plain' }, 'reject_media_type', 'transcript'],
    [415, standIngest(), { 'content-encoding': 'gzip' }, 'reject_media_type', 'transcript'],
    [422, says({ kind: 'unstorable', error: no }), {}, 'failed', 'transcript'],
    [500, fails(new SyntaxError(SECRET)), {}, 'failed', 'transcript'],
    [500, fails(new DatabaseError('gone', '42703', false)), {}, 'failed', 'transcript'],
    [503, says({ kind: 'unavailable', error: no }), {}, 'unavailable', 'transcript'],
    [503, fails(new DatabaseError('gone', '', true)), {}, 'unavailable', 'transcript'],
  ] as [number, Stand, Record<string, string>, string, string][]) {
    const response = await post(stand, headers);
    const body = (await response.json()) as Json;
    assert.equal([response.status, Object.keys(body)], [status, ['error']]);
    assert.is(response.headers.get('content-type'), 'application/json');
    assert.is(response.headers.get('retry-after'), status === 503 ? '1' : null);
    assert.not.match(body.error, SECRET);
    assert.not.match(JSON.stringify(stand.logged()), 'secret');
    if (counted !== '') assert.is(await writes(stand, counted, provider), 1, `${status} ${counted}`);
  }
});

test('only POST is served', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await standIngest().app.request(PATH, { method });
    assert.equal([response.status, response.headers.get('allow')], [405, 'POST'], method);
  }
});

test("the caller's name is handed on only where a gateway is trusted to set it", async () => {
  for (const trustCallerHeader of [true, false]) {
    const stand = standIngest({ trustCallerHeader });
    await post(stand, { 'x-svc-auth-subject': 'ada@example.com' });
    assert.is(stand.taken[0]?.subject, trustCallerHeader ? 'ada@example.com' : null);
  }
});

test('over the wire: exactly the limit passes; what is larger is 413, declared or in chunks, counted and logged', async () => {
  const stand = await serveIngest();
  const sent = (length: number, chunked: boolean) => {
    const bytes = new Uint8Array(length);
    const body = chunked ? new Blob([bytes]).stream() : bytes;
    return fetch(`${stand.address}${PATH}`, { method: 'POST', headers: json, body, duplex: 'half' } as RequestInit);
  };
  for (const chunked of [false, true]) {
    assert.is((await sent(MAX_INGEST_BYTES, chunked)).status, 202);
    const response = await sent(MAX_INGEST_BYTES + 1, chunked);
    assert.equal([response.status, await response.text()], [413, SIZE_ANSWER]);
  }
  assert.equal([await writes(stand, 'reject_oversize'), stand.taken.length], [2, 2]);
  assert.equal(
    stand.logged().map(({ content_length, limit, path }) => [content_length, limit, path]),
    [
      [MAX_INGEST_BYTES + 1, MAX_INGEST_BYTES, PATH],
      [null, MAX_INGEST_BYTES, PATH],
    ],
  );
  await stand.close(0);
});

test('its contract names its body and all its answers, with examples', () => {
  const contract = ingestContract('0') as Json;
  const { schemas } = contract.components;
  const { operationId, requestBody, responses } = operationsOf(contract).find(({ path }) => path === PATH) as Json;
  assert.is(operationId, 'appendTranscript');
  assert.equal(requestBody.content, {
    'application/json': { schema: { $ref: '#/components/schemas/TranscriptUpload' } },
  });
  assert.equal(Object.keys(responses), [
    '202',
    '400',
    '403',
    '408',
    '409',
    '410',
    '413',
    '415',
    '422',
    '431',
    '500',
    '503',
  ]);
  for (const [status, { content }] of Object.entries<Json>(responses)) {
    const { schema, example } = content['application/json'];
    assert.is(schema.$ref, `#/components/schemas/${status === '202' ? 'AppendedTranscript' : 'Rejection'}`);
    if (status !== '202') assert.equal(Object.keys(example), ['error'], status);
  }
  const { TranscriptUpload, AppendedTranscript } = schemas;
  assert.equal(TranscriptUpload.required, ['session', 'records']);
  assert.equal(TranscriptUpload.properties.session.required, ['harness_session_id']);
  assert.equal([TranscriptUpload.examples.length, AppendedTranscript.examples.length], [1, 1]);
});

test.run();
