/** Does each failure that the contracts tell of happen, and read as they show it? And does none happen that they are silent about? */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ReadApi, readContract } from '../../../core/api/app.ts';
import type { Installed } from '../../../core/cassette/installed.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { serveApp } from '../../../core/http/listen.ts';
import type { IngestVerdict } from '../../../core/model/ingest.ts';
import type { TranscriptVerdict } from '../../../core/model/transcript-upload.ts';
import { complaint, type IngestApi, ingestContract } from '../../../ingest/app.ts';
import { speak, standIngest } from '../../ingest/stand.ts';
import { type Document, type Operation, operationsOf, resolved } from '../../support/openapi-fuzz/document.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('failures as they are told');

const readDocument = readContract('0') as unknown as Document;
const readApi = operationsOf(readDocument);
const ingestApi = operationsOf(ingestContract('0') as unknown as Document);

const ID = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const GONE = new DatabaseError('gone', '', true);
const gone = { execute: () => Promise.reject(GONE), append: () => Promise.reject(GONE) };

/** One whose contract nobody has read yet. */
const neverIn = {
  installed: () => [{ entry: { name: ID }, document: null } as Installed],
  version: () => '',
  answer: () => Promise.reject(new Error('not asked')),
  fetch: () => Promise.reject(new Error('not asked')),
};

/** Bodies that get as far as the database. */
const NAMELESS = { harness_id: 'claude', harness_session_id: 's', reason: 'r' }; // of no turn
const BODY: Record<string, string> = {
  renameSession: '{"display_name":"x"}',
  runDerive: `{"session_id":"${ID}"}`,
  repairAttribution: JSON.stringify({ raw_turn_id: 12, ...NAMELESS }),
  findText: '{"text":"a secret"}',
  purgeParkedTurns: `{"ids":["${ID}"]}`,
};
const JSON_TYPE = { 'content-type': 'application/json' };

/** What stands in a path, where that is no UUID. */
const SEGMENTS: Record<string, string> = { file: 'none', raw_turn_id: '12', n: '0' };

/** Without which an operation refuses, or asks less of the database. */
const QUERIES: Record<string, string> = {
  ...{ listTraces: `?session_id=${ID}`, verifySessions: `?session_id=${ID}`, browseFacets: '?field=model' },
  ...{ find: '?text=walrus', findInSession: '?text=walrus' },
};
/** It knows no id that is unknown. */
const TOO_LONG: Record<string, { segment: string }> = { whereIs: { segment: 'x'.repeat(600) } };

type Asking = { path: string; init: RequestInit };

/** As the contract has it, or with something else in place of that. */
const asking = (
  operation: Operation,
  other: { headers?: Record<string, string>; body?: string; segment?: string } = {},
): Asking => {
  const { operationId, method, requestBody } = operation;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => other.segment ?? SEGMENTS[name] ?? ID);
  const body = requestBody ? { body: other.body ?? BODY[operationId] ?? '{}' } : {};
  const headers = { ...(requestBody ? JSON_TYPE : {}), ...other.headers };
  return {
    path: `${path}${QUERIES[operationId] ?? ''}`,
    init: { method, headers, ...body },
  };
};

const shown = ({ responses }: Operation, status: number): Json =>
  responses[status]?.content?.['application/problem+json']?.example;

/** Nothing is left to tell them apart but under which id they are spoken of. */
const same = (actual: Json, expected: Json, where: string) =>
  assert.equal({ ...actual, request_id: '' }, { ...expected, request_id: '' }, where);

/** How to come to a status; only of these it can be said for every route. */
const WAYS: Record<number, { given?: Partial<ReadApi>; headers?: Record<string, string>; body?: string }> = {
  401: { given: { token: 'secret' } },
  403: { headers: { host: 'evil.example' } },
  404: { given: { execute: () => Promise.resolve(null as never) } },
  405: {},
  413: { body: ' '.repeat(600_000) },
  415: { headers: { 'content-type': 'text/plain' } },
  503: { given: { ...gone, cassettes: neverIn } },
};

for (const [status, { given = {}, ...other }] of Object.entries(WAYS))
  test(`each ${status} that the read API tells of happens, and reads as it is shown`, async () => {
    const those = readApi.filter((operation) => shown(operation, Number(status)));
    assert.ok(those.length > 0);
    for (const operation of those) {
      const { path, init } = asking(operation, {
        ...other,
        ...(status === '404' ? TOO_LONG[operation.operationId] : {}),
      });
      const response = await testApi(given).request(path, init);
      const where = `${operation.operationId} ${status}`;
      assert.is(response.status, Number(status), where);
      same(await response.json(), shown(operation, Number(status)), where);
    }
  });

/** What each of them finds wrong with its query, or with its body. */
const BAD: Record<string, { query: string } | { body: string }> = {
  listSessions: { query: 'limit=0' },
  listRawTurns: { query: 'limit=0' },
  listTraces: { query: 'limit=0' },
  browseSessions: { query: 'limit=0' },
  browseFacets: { query: '' },
  readOutline: { query: 'after=x' },
  listCacheBreaks: { query: 'by=x' },
  readSpans: { query: 'from_seq=x' },
  readRawRequest: { query: 'as=x' },
  readRawResponse: { query: 'as=x' },
  readCallContext: { query: 'against=x' },
  readTrace: { query: 'payload=x' },
  readSessionTraces: { query: 'payload=x' },
  readStats: { query: 'model=a&model=b' },
  readStatsSeries: { query: 'bucket=hour' },
  readEvents: { query: 'after=x' },
  renameSession: { body: '{}' },
  runDerive: { body: '{"all":true}' },
  purgeSession: { body: '{"all":true}' },
  repairAttribution: { body: JSON.stringify(NAMELESS) },
  seedDemo: { body: '{"overwrite":true}' },
  verifySessions: { query: 'session_id=x' },
  findText: { body: '{"text":"x"}' },
  find: { query: 'text=a&in=x' },
  findInSession: { query: 'text=a&in=x' },
  listSessionsToPurge: { query: 'after=x' },
  purgeParkedTurns: { body: '{}' },
};

test('each 400 for a query or a body reads as it is shown', async () => {
  for (const operation of readApi) {
    const { operationId, requestBody, parameters } = operation;
    const bad = BAD[operationId];
    const takes = requestBody !== undefined || parameters.some((one) => one.in === 'query');
    assert.is(bad !== undefined, takes && operationId !== 'callMcp', operationId);
    if (!bad) continue;
    const { path, init } = asking(operation, 'body' in bad ? bad : {});
    const response = await testApi().request('query' in bad ? `${path.split('?')[0]}?${bad.query}` : path, init);
    assert.is(response.status, 400, operationId);
    same(await response.json(), shown(operation, 400), operationId);
  }
});

test('a database that is away is 503 for each operation that tells of it, and for no other', async () => {
  for (const operation of readApi) {
    const { path, init } = asking(operation);
    const response = await testApi({ ...gone, cassettes: neverIn }).request(path, init);
    assert.is(response.status === 503, 503 in operation.responses, `${operation.operationId} ${response.status}`);
  }
});

test('a database that is slow is 504 for each operation that tells of it, and for no other', async () => {
  for (const operation of readApi) {
    const isDocumented = 504 in operation.responses;
    let refuse = () => {};
    const slow = new Promise<never>((_, reject) => {
      refuse = () => reject(GONE);
    });
    slow.catch(() => {}); // not every operation asks
    const { path, init } = asking(operation);
    const answer = testApi({ execute: () => slow, append: () => slow, readMs: 5 }).request(path, init);
    if (!isDocumented) await sleep(30);
    if (!isDocumented) refuse();
    const response = await answer;
    assert.is(response.status === 504, isDocumented, `${operation.operationId} ${response.status}`);
    if (!isDocumented) continue;
    const { error, detail, ...rest } = await response.json();
    const sentence = error.replace('0.005 s', '20 s');
    same({ ...rest, error: sentence, detail: sentence }, shown(operation, 504), operation.operationId);
    refuse();
  }
});

test('a bug is 500, and says no more than is shown', async () => {
  const [operation] = readApi.filter(({ operationId }) => operationId === 'readStats');
  assert.ok(operation);
  const response = await testApi().request('/v1/stats');
  same(await response.json(), shown(operation, 500), 'readStats 500');
  for (const one of readApi) same(shown(one, 500), shown(operation, 500), one.operationId);
});

test('what the protocol of agents refuses reads as it is shown', async () => {
  const [callMcp] = readApi.filter(({ operationId }) => operationId === 'callMcp');
  const ways: Record<number, { headers?: Record<string, string>; body?: string }> = {
    400: { body: '{' },
    406: { headers: { accept: 'text/html' } },
    413: { body: ' '.repeat(1_048_577) },
    415: { headers: { 'content-type': 'text/plain' } },
  };
  assert.ok(callMcp);
  for (const [status, way] of Object.entries(ways)) {
    const { path, init } = asking(callMcp, way);
    const response = await testApi().request(path, init);
    assert.is(response.status, Number(status));
    const { schema = {}, example } = callMcp.responses[status]?.content?.['application/json'] ?? {};
    const { examples = [] } = resolved(readDocument, schema) as { examples?: unknown[] };
    assert.equal(await response.json(), example ?? examples[0], status);
  }
});

/** Requests that no handler is asked about, from head to end. */
const UNASKED: Record<number, string> = {
  400: 'GET /ping HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n',
  408: 'GET /ping HTTP/1.1\r\nhost: local',
  431: `GET /ping HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
};
const LISTENERS = {
  'read API': { app: () => testApi(), operations: readApi, envelope: {} },
  'ingest API': { app: () => standIngest().app, operations: ingestApi, envelope: { complaint } },
};

for (const [name, { app, operations, envelope }] of Object.entries(LISTENERS))
  test(`what no handler of the ${name} is asked about has the headers and the words that are told`, async () => {
    const limits = { headMs: 100, checkMs: 20 };
    const at = { hosts: ['127.0.0.1'], port: 0, what: name, limits };
    const served = await serveApp({ fetch: app().fetch, ...at, ...envelope });
    for (const [status, bytes] of Object.entries(UNASKED)) {
      const { socket, closed } = speak(served.port);
      await once(socket, 'connect');
      socket.write(bytes);
      const [top = '', text = ''] = (await closed()).split('\r\n\r\n');
      const lines = top.split('\r\n');
      assert.match(lines[0] ?? '', ` ${status} `);
      const headers = Object.fromEntries(lines.slice(1).map((line) => line.toLowerCase().split(': ')));
      const body: Json = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
      for (const operation of operations) {
        const documented = operation.responses[status];
        const where = `${operation.operationId} ${status}`;
        const type = name === 'read API' ? 'application/problem+json' : 'application/json';
        assert.is(headers['content-type'], type, where);
        const required = Object.entries(documented?.headers ?? {}).filter(([, header]) => header.required);
        assert.ok(required.length >= 4, where);
        for (const [header] of required) assert.ok(headers[header], `${where} ${header}`);
        const example: Json = documented?.content?.[type]?.example;
        // a route that finds fault with its query or body shows that
        if (Number(status) !== 400 || !(operation.operationId in BAD)) same(body, example, where);
        else assert.equal([body.status, body.code], [example.status, example.code], where);
      }
      if (name === 'read API') assert.is(headers['x-request-id'], body.request_id);
    }
    await served.close(0);
  });

/** What makes a route of the ingest API give each of its own failures. */
type Ways = {
  operationId: string;
  path: string;
  bad: IngestVerdict | TranscriptVerdict;
  away: string;
  incomplete?: TranscriptVerdict;
  purged?: TranscriptVerdict;
};
const kept = { raw_turn_id: 12, session_id: ID, request_id: 'r', deduped: false, provider: 'openai' } as const;
const unusable = 'Cannot read the turn: neither raw_response nor response gives an answer';
const unstorable = 'Cannot keep the transcript: the database cannot hold what it says of itself';
const APPENDED: Ways[] = [
  {
    ...{ operationId: 'appendTurn', path: '/v1/ingest', away: 'Cannot keep the turn: the database is not available' },
    bad: { kind: 'unusable', error: unusable, ...kept },
  },
  {
    ...{ operationId: 'appendTranscript', path: '/v1/ingest/transcript' },
    away: 'Cannot keep the transcript: the database is not available',
    bad: { kind: 'unstorable', error: unstorable },
    incomplete: {
      kind: 'incomplete',
      error: 'Cannot keep the transcript: records before these are not stored; send the file from its beginning',
    },
    purged: { kind: 'purged', error: 'Cannot keep the transcript: its session was purged' },
  },
];

test('each failure that the ingest API tells of happens, and reads as it is shown', async () => {
  for (const { operationId, path, bad, away, incomplete, purged } of APPENDED) {
    const operation = ingestApi.find((one) => one.operationId === operationId);
    assert.ok(operation);
    const sent = (given: Partial<IngestApi>, headers: Record<string, string>) =>
      standIngest(given).app.request(path, { method: 'POST', headers, body: '{}' });
    const appending = (append: () => Promise<unknown>) =>
      sent({ append, appendTranscript: append } as Partial<IngestApi>, JSON_TYPE);
    const ways: Record<number, () => Response | Promise<Response>> = {
      403: () => sent({}, { host: 'evil.example' }),
      ...(incomplete && { 409: () => appending(async () => incomplete) }),
      ...(purged && { 410: () => appending(async () => purged) }),
      413: () => sent({}, { 'content-length': '99999999', ...JSON_TYPE }),
      415: () => sent({}, { 'content-type': 'text/plain' }),
      422: () => appending(async () => bad),
      500: () => appending(() => Promise.reject(new Error('secret'))),
      503: () => appending(async () => ({ kind: 'unavailable', error: away })),
    };
    const heard = Object.keys(UNASKED);
    const failures = Object.keys(operation.responses).filter(
      (status) => Number(status) >= 400 && !heard.includes(status),
    );
    assert.equal(Object.keys(ways), failures, path);
    for (const [status, ask] of Object.entries(ways)) {
      const response = await ask();
      assert.is(response.status, Number(status));
      assert.equal(await response.json(), operation.responses[status]?.content?.['application/json']?.example, status);
    }
  }
});

test.run();
