/** Is what is installed shown as it is, secrets apart, and is each contract handed out, also of one that is away? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cassettesApp } from '../../../core/api/cassettes.ts';
import type { Installed } from '../../../core/cassette/installed.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { readDocument } from '../../../core/cassette/openapi/document.ts';
import { onError } from '../../../core/http/failure.ts';
import { openLog } from '../../../core/log.ts';
import { CassetteList } from '../../../core/model/cassette.ts';
import { documentWith } from '../../support/cassette-document.ts';
import type { Json } from '../../support/read-api.ts';

const test = suite('GET /v1/cassettes');
const SINCE = '2026-07-27T10:00:00Z';
const SECRET = 'sk-very-secret';

const installed = (name: string, given: Partial<Installed> = {}): Installed => ({
  entry: ListEntry.parse({ name, source: `https://user:${SECRET}@x.example/openapi`, config: { api_key: SECRET } }),
  isolation: 'process',
  state: 'pending',
  since: SINCE,
  admitted_at: null,
  trouble: null,
  confinement: null,
  liveness: null,
  source_digest: null,
  document: null,
  last_run: null,
  progress: null,
  ...given,
});
const admitted = async (name: string, given: Partial<Installed> = {}): Promise<Installed> =>
  installed(name, {
    state: 'admitted',
    admitted_at: SINCE,
    document: await readDocument(documentWith(), { name, isolation: 'process' }),
    ...given,
  });
const trouble = (reason: string) =>
  ({ step: 'config', reason, problems: [reason], observed_at: '2026-07-27T10:00:01Z' }) as const;

const appOf = (list: readonly Installed[]) => {
  const app = cassettesApp({ installed: () => list });
  app.onError(onError(openLog('silent')));
  return app;
};
const get = async (list: readonly Installed[]): Promise<Json> => {
  const response = await appOf(list).request('/v1/cassettes');
  assert.is(response.status, 200);
  const answer = await response.json();
  const read = CassetteList.safeParse(answer);
  assert.ok(read.success, read.error?.message);
  assert.equal(read.data, answer, 'nothing that the contract does not describe');
  return answer;
};

test('none is an empty list', async () => {
  assert.equal(await get([]), { contract_version: 'v1', cassettes: [], problems: [] });
});

test('one that is in says what it is, what it may do and what it offers', async () => {
  const { cassettes } = await get([
    await admitted('my-notes', {
      confinement: { level: 'full', stops: ['network'], does_not_stop: [] },
      liveness: { state: 'up', reason: null, restarts: 2 },
      source_digest: `sha256:${'0'.repeat(64)}`,
      last_run: { scheduled_at: SINCE, ended_at: null, error: null },
      progress: { done: 1204, pending: 35, failed: 2 },
    }),
  ]);
  const { manifest_digest, openapi_digest, config, ...rest } = cassettes[0];
  assert.match(manifest_digest, /^sha256:[0-9a-f]{64}$/);
  assert.match(openapi_digest, /^sha256:[0-9a-f]{64}$/);
  assert.equal(rest, {
    name: 'my-notes',
    state: 'admitted',
    since: SINCE,
    admitted_at: SINCE,
    required: false,
    isolation: 'process',
    confinement: { level: 'full', stops: ['network'], does_not_stop: [] },
    liveness: { state: 'up', restarts: 2 },
    route_prefix: '/v1/cassettes/my-notes',
    openapi_path: '/v1/cassettes/my-notes/openapi.json',
    openapi_status: 'fresh',
    version: '1.0.0',
    display_name: 'Notes',
    homepage: 'https://example.com/notes',
    depends: { core: 'v1', views: ['sessions', 'spans'], extensions: ['vector'] },
    bindings: ['db'],
    tables: ['cassette_my_notes.authors', 'cassette_my_notes.notes'],
    schedule: { every_seconds: 60 },
    last_run: { scheduled_at: SINCE },
    progress: { done: 1204, pending: 35, failed: 2 },
    tools: [{ name: 'my-notes_find', title: 'Finds notes' }],
    source_digest: `sha256:${'0'.repeat(64)}`,
  });
  assert.equal(config.slice(0, 2), [
    { key: 'api_key', type: 'string', required: true, secret: true },
    { key: 'every', type: 'duration', required: false, secret: false, default: '30s' },
  ]);
});

test('neither values of settings nor sources are shown', async () => {
  assert.not.match(JSON.stringify(await get([await admitted('notes'), installed('other')])), SECRET);
});

test('they are shown by name, with the reasons of those that are not in by subject', async () => {
  const { cassettes, problems } = await get([
    installed('zebra', { state: 'rejected', trouble: trouble('Cannot start it') }),
    await admitted('notes', { state: 'stale', trouble: trouble('Cannot reach it') }),
    installed('apple', { state: 'unresolved', trouble: trouble('Cannot find it') }),
  ]);
  assert.equal(
    cassettes.map((one: Json) => [one.name, one.state, one.openapi_status, one.tools.length]),
    [
      ['apple', 'unresolved', 'missing', 0],
      ['notes', 'stale', 'stale', 1],
      ['zebra', 'rejected', 'missing', 0],
    ],
  );
  assert.equal(
    problems.map((one: Json) => [one.subject, one.step, one.reason]),
    [
      ['apple', 'config', 'Cannot find it'],
      ['notes', 'config', 'Cannot reach it'],
      ['zebra', 'config', 'Cannot start it'],
    ],
  );
});

test('a contract is handed out by the installed name, once, while it is away too', async () => {
  const app = appOf([await admitted('my-notes', { state: 'stale' })]);
  const response = await app.request('/v1/cassettes/my-notes/openapi.json');
  assert.equal([response.status, response.headers.get('content-type')], [200, 'application/json']);
  const document: Json = await response.json();
  assert.ok(document.paths['/v1/cassettes/my-notes/find']);
  const etag = response.headers.get('etag') ?? '';
  assert.match(etag, /^"[\w-]{43}"$/);
  const again = await app.request('/v1/cassettes/my-notes/openapi.json', { headers: { 'if-none-match': etag } });
  assert.equal([again.status, await again.text()], [304, '']);
  const other = await app.request('/v1/cassettes/my-notes/openapi.json', { headers: { 'if-none-match': '"x"' } });
  assert.is(other.status, 200);
});

test('another document has another tag', async () => {
  const tag = async (name: string) =>
    (await appOf([await admitted(name)]).request(`/v1/cassettes/${name}/openapi.json`)).headers.get('etag');
  assert.is(await tag('notes'), await tag('notes'));
  assert.is.not(await tag('notes'), await tag('my-notes'));
});

test('a name that nobody has is 404, and one that was never in is 503', async () => {
  const app = appOf([installed('notes', { state: 'rejected', trouble: trouble('Cannot start it') })]);
  for (const [name, status, code] of [
    ['other', 404, 'cassette-unknown'],
    ['%2e%2e%2f', 404, 'cassette-unknown'],
    ['notes', 503, 'cassette-unavailable'],
  ] as const) {
    const response = await app.request(`/v1/cassettes/${name}/openapi.json`);
    assert.is(response.status, status, name);
    assert.is(response.headers.get('content-type'), 'application/problem+json');
    assert.is(((await response.json()) as Json).code, code);
  }
});

test.run();
