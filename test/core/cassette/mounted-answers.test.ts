/** What does a caller of the read API see of a cassette that is not there, fails, is late or is sent too much; and what does a good one see of him? */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openHost } from '../../../core/cassette/host.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, type Made, removeCassetteFolder } from '../../support/cassette-folder.ts';
import { everySourceTried } from '../../support/every-source-tried.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('answers of the mount');
const folders: string[] = [];
const log = openLog('silent');
const host = openHost({
  ...{ installed: '/nowhere', databases: null, core: null, environment: {}, tmp: '/nowhere', log, now: Date.now },
  limits: { requestBytes: 8, idleMs: 50 },
});
let address = '';
let close = async () => {};

const BEFORE = `
  if (path === '/api/notes/throws') throw new Error('the prompt was: secret');
  if (path === '/api/notes/hangs') return new Promise(() => {});
`;
const forwarding = { bindings: { forward_auth: true } };

test.before(async () => {
  const entry = async (name: string, made: Made, bindings: string[] = []) => {
    const source = await cassetteFolder(made);
    folders.push(source);
    return ListEntry.parse({ name, source, isolation: 'inline', grants: { bindings } });
  };
  const entries = await Promise.all([
    entry('notes', { before: BEFORE }),
    entry('out', { top: "throw new Error('at load');" }),
    entry('trusted', { manifest: forwarding }, ['forward_auth']),
    entry('granted', {}, ['forward_auth']), // and does not ask for it
  ]);
  void host.apply({ entries, loaded_at: '', problem: null, folderOf: () => '/' });
  await everySourceTried(host);
  const api = testApi({ cassettes: host, trustCallerHeader: true });
  const served = await serveApp({ fetch: api.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
  address = served.addresses[0] ?? '';
  close = () => served.close(0);
});
test.after(async () => {
  await close();
  await host.close(0);
  await Promise.all(folders.map(removeCassetteFolder));
});

/** As it is on the wire: fetch has no TRACE. */
const ask = async (path: string, { method = 'GET', body = '', headers = {} } = {}) => {
  const answer = await new Promise<Parameters<typeof text>[0] & { statusCode?: number; headers: Json }>(
    (resolve, reject) => {
      const outgoing = request(`${address}${path}`, { method, headers }, resolve as never);
      outgoing.on('error', reject).end(body);
    },
  );
  return { status: answer.statusCode, headers: answer.headers, json: JSON.parse(await text(answer)) as Json };
};

const REFUSED: [what: string, status: number, code: string, path: string, init?: object][] = [
  ['a name that nobody has', 404, 'cassette-unknown', '/nobody/hello'],
  [
    'TRACE, which shows a caller what was added on the way,',
    405,
    'method-not-allowed',
    '/notes/hello',
    { method: 'TRACE' },
  ],
  ['TRACE of what is not served', 404, 'route-unknown', '/notes/nothing', { method: 'TRACE' }],
  [
    'more than is passed on',
    413,
    'body-too-large',
    '/notes/echo',
    { method: 'POST', body: '123456789', headers: { 'content-length': '9' } },
  ],
  ['one that fails', 502, 'cassette-broken', '/notes/throws'],
  ['one that is not in', 503, 'cassette-unavailable', '/out/hello'],
  ['one that does not answer', 504, 'cassette-late', '/notes/hangs'],
];
for (const [what, status, code, path, init] of REFUSED)
  test(`${what} is a problem: ${status}, ${code}`, async () => {
    const { headers, json, ...answer } = await ask(`/v1/cassettes${path}`, init);
    assert.equal([answer.status, headers['content-type']], [status, 'application/problem+json']);
    const { type, title, detail, error, request_id } = json;
    assert.equal([json.status, json.code, type, error], [status, code, 'about:blank', detail]);
    assert.match(error, /^Cannot .*[^.]$/);
    assert.not.match(JSON.stringify(json), 'secret');
    assert.ok(title.length > 0);
    assert.is(request_id, headers['x-request-id']);
    assert.is(headers['retry-after'], status === 503 ? '1' : undefined);
    assert.is(headers.allow, status === 405 ? 'GET, HEAD' : undefined);
  });

test('what can come of the way to it stands in the contract of each of its operations', async () => {
  const { json } = await ask('/openapi');
  for (const [path, method] of [
    ['/v1/cassettes/notes/hello', 'get'],
    ['/v1/cassettes/notes/echo', 'post'],
  ] as const)
    for (const status of ['413', '502', '503', '504'])
      assert.ok(json.paths[path][method].responses[status].content['application/problem+json'], `${path} ${status}`);
});

test('the caller’s credentials and name reach the one that asked for them and was granted them, and no other', async () => {
  const headers = { authorization: 'Bearer of-the-caller', cookie: 'a=b', 'x-svc-auth-subject': 'ada' };
  const seen = async (name: string) => {
    const received = (await ask(`/v1/cassettes/${name}/hello`, { headers })).json.headers;
    return [received.authorization, received.cookie, received['x-svc-auth-subject'], received['x-svc-cassette']];
  };
  assert.equal(await seen('trusted'), ['Bearer of-the-caller', 'a=b', 'ada', 'trusted']);
  for (const name of ['notes', 'granted'])
    assert.equal(await seen(name), [undefined, undefined, undefined, name], name);
});

test.run();
