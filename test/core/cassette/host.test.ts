import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Env } from '../../../core/cassette/contract.ts';
import { type CassetteHost, openHost } from '../../../core/cassette/host.ts';
import type { Installed } from '../../../core/cassette/installed.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { Refusal } from '../../../core/errors.ts';
import { openLog } from '../../../core/log.ts';
import {
  cassetteFolder,
  emptyCassetteFolder,
  type Made,
  openapiOf,
  removeCassetteFolder,
} from '../../support/cassette-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { everySourceTried } from '../../support/every-source-tried.ts';
import { cassetteManifest } from '../../support/running-cassette.ts';

const test = suite('host');

const folders: string[] = [];
const hosts: CassetteHost[] = [];
const made = async (cassette: Made = {}) => {
  const folder = await cassetteFolder(cassette);
  folders.push(folder);
  return folder;
};
type HostOptions = { core?: NonNullable<Env['CORE']>; environment?: Record<string, string>; basePath?: string };
const host = (more: HostOptions = {}): CassetteHost => {
  const opened = openHost({
    installed: '/nowhere',
    databases: null,
    core: more.core ?? null,
    environment: more.environment ?? {},
    basePath: more.basePath ?? '',
    tmp: '/nowhere',
    log: openLog('silent'),
    now: Date.now,
    retryMs: { first: 20, most: 40 },
    refreshMs: 20,
  });
  hosts.push(opened);
  return opened;
};
const entry = (name: string, source: string, more: object = {}): ListEntry =>
  ListEntry.parse({ name, source, isolation: /^http/.test(source) ? 'remote' : 'inline', ...more });
const apply = (on: CassetteHost, ...entries: ListEntry[]) =>
  on.apply({ entries, loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: () => '/' });
const settled = async (on: CassetteHost, ...entries: ListEntry[]): Promise<Installed[]> => {
  void apply(on, ...entries);
  await everySourceTried(on);
  return on.installed();
};
const states = (all: readonly Installed[]) => Object.fromEntries(all.map((one) => [one.entry.name, one.state]));
const get = (on: CassetteHost, name: string, path: string, init: RequestInit = {}) =>
  on.answer(name, {
    request: new Request(`http://localhost/v1/cassettes/${name}${path}`, init),
    caller: null,
    requestId: '0195f6d0-0000-7000-8000-000000000000',
    peer: null,
  });
const refused = async (work: () => Promise<unknown> | unknown): Promise<Refusal> => {
  try {
    await work();
  } catch (error) {
    assert.instance(error, Refusal);
    return error as Refusal;
  }
  return assert.unreachable('it was answered') as never;
};

test.after(async () => {
  await Promise.all(hosts.map((one) => one.close(0)));
  await Promise.all(folders.map(removeCassetteFolder));
});

test('a good cassette is admitted with its digests, and answers under its installed name', async () => {
  const on = host();
  const [one] = await settled(on, entry('my-notes', await made()));
  assert.is(one?.state, 'admitted', one?.trouble?.reason);
  assert.match(one?.source_digest ?? '', /^sha256:[0-9a-f]{64}$/);
  assert.match(one?.document?.openapi_digest ?? '', /^sha256:[0-9a-f]{64}$/);
  assert.match(one?.admitted_at ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const response = await get(on, 'my-notes', '/hello');
  assert.is(response.status, 200);
  assert.is(((await response.json()) as { hello: string }).hello, 'world');
});

test('a cassette learns the path under which a reverse proxy serves it', async () => {
  const on = host({ basePath: '/svc' });
  const before = "if (path.endsWith('/hello')) return json(request.headers.get('x-forwarded-prefix'));";
  await settled(on, entry('my-notes', await made({ before })));
  assert.is(await (await get(on, 'my-notes', '/hello')).json(), '/svc/v1/cassettes/my-notes');
});

test('one bad cassette leaves the others alone, whatever is wrong with it', async () => {
  const on = host();
  const all = await settled(
    on,
    entry('good', await made()),
    entry('throwing', await made({ top: 'throw new Error("at load");' })),
    entry('absent', '/nowhere/at/all'),
    entry('listless', await made({ wholeManifest: { kind: 'svc.cassette/v2' } })),
    entry('silent', await made({ before: "if (path === '/openapi') return json({}, 500);" })),
    entry('ill', await made({ before: "if (path === '/ping') return json('no', 503);" }), {}),
  );
  assert.equal(states(all), {
    absent: 'unresolved',
    good: 'admitted',
    ill: 'rejected',
    listless: 'rejected',
    silent: 'rejected',
    throwing: 'rejected',
  });
  assert.equal(Object.fromEntries(all.map((one) => [one.entry.name, one.trouble?.step ?? null])), {
    absent: 'resolve',
    good: null,
    ill: 'health',
    listless: 'manifest',
    silent: 'openapi',
    throwing: 'start',
  });
  assert.is((await get(on, 'good', '/hello')).status, 200);
  assert.is((await refused(() => get(on, 'ill', '/hello'))).code, 'cassette-unavailable');
  assert.is((await refused(() => get(on, 'nobody', '/hello'))).code, 'cassette-unknown');
});

test('a request that comes before its cassette was tried waits until it was; for a retry none waits', async () => {
  const on = host();
  const slow = 'await new Promise((resolve) => setTimeout(resolve, 300));';
  void apply(on, entry('slow', await made({ top: slow })), entry('ill', await made({ top: `${slow} throw 0;` })));
  const early = get(on, 'slow', '/hello');
  assert.equal(states(on.installed()), { ill: 'pending', slow: 'pending' });
  assert.is(
    (await refused(() => get(on, 'slow', '/hello', { signal: AbortSignal.abort() }))).code,
    'cassette-unavailable',
  );
  assert.is((await early).status, 200);
  assert.is((await refused(() => get(on, 'ill', '/hello'))).code, 'cassette-unavailable');
  assert.is(states(on.installed()).ill, 'rejected');
});

const REFUSED: [string, string, Made, object, RegExp][] = [
  ['a digest that changed', 'digest', {}, { digest: `sha256:${'0'.repeat(64)}` }, /not what was pinned/],
  [
    'a binding that was not granted',
    'grants',
    { manifest: { bindings: { core: true, network: true } } },
    {},
    /"core".*"network"/,
  ],
  ['a view that was not granted', 'grants', { manifest: { depends: { views: ['spans'] } } }, {}, /view "spans"/],
  [
    'a setting that is missing',
    'config',
    { manifest: { config: [{ key: 'city', type: 'string', required: true }] } },
    {},
    /"city" is missing/,
  ],
  [
    'a setting of the wrong type',
    'config',
    { manifest: { config: [{ key: 'days', type: 'int' }] } },
    { config: { days: 'many' } },
    /"days"/,
  ],
  [
    'a secret with a default',
    'manifest',
    { manifest: { config: [{ key: 'key', type: 'string', secret: true, default: 'x' }] } },
    {},
    /secret/,
  ],
  ['an unsupported core', 'depends', { manifest: { depends: { core: 'v9' } } }, {}, /v9/],
  [
    'a document that says something else than the module',
    'manifest',
    { document: (one) => ({ ...one, 'x-svc-cassette': cassetteManifest('notes', { tables: [{ name: 'more' }] }) }) },
    {},
    /./,
  ],
  [
    'a path that is not its own',
    'openapi',
    {
      document: (one) => ({ ...one, paths: { '/v1/sessions': { get: { responses: { 200: { description: 'x' } } } } } }),
    },
    {},
    /\/v1\/sessions/,
  ],
  [
    'a redirect instead of a document',
    'openapi',
    { before: "if (path === '/openapi') return new Response(null, { status: 302, headers: { location: '/x' } });" },
    {},
    /redirects are not followed/,
  ],
  [
    'a document of 2 MiB',
    'openapi',
    { before: "if (path === '/openapi') return new Response('x'.repeat(2 * 1024 * 1024));" },
    {},
    /1 MiB/,
  ],
];
for (const [what, step, cassette, more, reason] of REFUSED)
  test(`${what} is refused at the step ${step}, with the reason`, async () => {
    const [one] = await settled(host(), entry('notes', await made(cassette), more));
    assert.is(one?.state, 'rejected');
    assert.is(one?.trouble?.step, step, one?.trouble?.reason);
    assert.match([one?.trouble?.reason, ...(one?.trouble?.problems ?? [])].join('\n'), reason);
  });

test('it is handed its settings, from the list and the environment, and no binding that it did not ask for', async () => {
  const config = [
    { key: 'greeting', type: 'string' as const, default: 'hello' },
    { key: 'api.key', type: 'string' as const, secret: true },
  ];
  const on = host({ environment: { SVC_CASSETTE_NOTES_API_KEY: 's3cret', SVC_CASSETTE_OTHER_GREETING: 'no' } });
  const [one] = await settled(on, entry('notes', await made({ manifest: { config } }), { config: { greeting: 'hi' } }));
  assert.is(one?.state, 'admitted', one?.trouble?.reason);
  assert.equal(await (await get(on, 'notes', '/env')).json(), {
    bindings: ['CONFIG', 'LOG'],
    config: { greeting: 'hi', 'api.key': 's3cret' },
  });
});

test('a secret of one is not handed to another that declares it under the name of its variable', async () => {
  const secret = { type: 'string' as const, secret: true };
  const on = host({ environment: { SVC_CASSETTE_MY_NOTES_API_KEY: 's3cret' } });
  await settled(
    on,
    entry('my', await made({ manifest: { config: [{ key: 'notes.api.key', ...secret }] } })),
    entry('my-notes', await made({ manifest: { config: [{ key: 'api.key', ...secret }] } })),
  );
  const config = async (name: string) => ((await (await get(on, name, '/env')).json()) as { config: object }).config;
  assert.equal([await config('my'), await config('my-notes')], [{}, { 'api.key': 's3cret' }]);
});

test('it reads the core through its binding, and nothing else of it', async () => {
  const requests: string[] = [];
  const core = {
    fetch: async (input: string | Request) => {
      requests.push(String(input));
      return new Response('{"items":[]}');
    },
  };
  const on = host({ core });
  await settled(
    on,
    entry('notes', await made({ manifest: { bindings: { core: true } } }), { grants: { bindings: ['core'] } }),
  );
  assert.is(await (await get(on, 'notes', '/core?path=/v1/sessions')).text(), '{"items":[]}');
  assert.equal(requests, ['/v1/sessions']);
});

test('one cassette under two names is two cassettes', async () => {
  const on = host();
  const source = await made();
  const all = await settled(on, entry('one', source, { config: {} }), entry('two', source));
  assert.equal(states(all), { one: 'admitted', two: 'admitted' });
  assert.equal(
    all.map(({ document }) => document?.tools.map(({ full_name }) => full_name)),
    [['one_echo'], ['two_echo']],
  );
  for (const name of ['one', 'two'])
    assert.is(
      ((await (await get(on, name, '/hello')).json()) as { headers: Record<string, string> }).headers['x-svc-cassette'],
      name,
    );
});

test('what failed for a reason that passes comes in by itself', async () => {
  const on = host();
  const folder = await made({ module: 'export default 1;' });
  await settled(on, entry('notes', folder));
  assert.is(on.installed()[0]?.state, 'rejected');
  const later = await emptyCassetteFolder();
  folders.push(later);
  await settled(on, entry('notes', join(later, 'not-yet')));
  assert.is(on.installed()[0]?.state, 'unresolved');
  await cassetteFolder({}, join(later, 'not-yet'));
  await eventually(async () => on.installed()[0]?.state === 'admitted');
});

test('a cassette that leaves the list is gone at once; its streams end within the time that they have', async () => {
  const on = host();
  const source = await made();
  await settled(on, entry('notes', source), entry('stays', await made()));
  const response = await get(on, 'notes', '/ticks');
  const reader = response.body?.getReader();
  await reader?.read();
  const leaving = apply(on, entry('stays', source));
  assert.is((await refused(() => get(on, 'notes', '/hello'))).code, 'cassette-unknown');
  const began = Date.now();
  const ended = (async () => {
    for (;;) if ((await reader?.read())?.done) return;
  })().catch(() => {});
  await Promise.all([ended, leaving]);
  assert.ok(Date.now() - began < 15_000);
});

test('an entry that is edited is tried anew; the others go on untouched', async () => {
  const on = host();
  const config = [{ key: 'greeting', type: 'string' as const }];
  const one = await made({ manifest: { config } });
  const other = entry('other', await made());
  await settled(on, entry('notes', one, { config: { greeting: 'hi' } }), other);
  const version = on.version();
  const [, before] = on.installed();
  void apply(on, entry('notes', one, { config: { greeting: 'salve' } }), other);
  await eventually(async () =>
    get(on, 'notes', '/hello').then(
      async (response) => ((await response.json()) as { hello: string }).hello === 'salve',
      () => false,
    ),
  );
  assert.is(on.installed()[1]?.admitted_at, before?.admitted_at);
  assert.is(on.version(), version);
  await apply(on, other);
  assert.is.not(on.version(), version);
});

test('what is switched off is on the list, and not tried', async () => {
  const on = host();
  assert.equal(await settled(on, entry('notes', '/nowhere', { enabled: false })), []);
  assert.is(on.list().count, 0);
});

test('background work runs, and how the last run ended is told', async () => {
  const on = host();
  await settled(on, entry('notes', await made({ manifest: { schedule: { every_seconds: 1 } } })));
  await eventually(async () => ((await (await get(on, 'notes', '/runs')).json()) as { runs: number }).runs > 0);
  await eventually(async () => on.installed()[0]?.last_run?.ended_at != null);
  assert.is(on.installed()[0]?.last_run?.error, null);
});

test('a remote source follows its document; while that cannot be had the last good one stays, as stale', async () => {
  let document: unknown = openapiOf('far', cassetteManifest('far'));
  let down = false;
  const server = createServer((incoming, outgoing) => {
    if (down) return void outgoing.writeHead(500).end();
    if (incoming.url === '/openapi')
      return void outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    if (incoming.url === '/ping') return void outgoing.end('pong');
    return void outgoing.end(`${incoming.url} for ${incoming.headers['x-svc-cassette']}`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    const on = host();
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi`;
    const [one] = await settled(on, entry('near', address));
    assert.is(one?.state, 'admitted', one?.trouble?.reason);
    assert.is(await (await get(on, 'near', '/rows?x=1')).text(), '/api/far/rows?x=1 for near');
    const version = on.version();
    document = { ...(document as object), info: { title: 'far', version: '2.0.0' } };
    await eventually(async () => on.version() !== version);

    down = true;
    await eventually(async () => on.installed()[0]?.state === 'stale');
    assert.match(on.installed()[0]?.trouble?.reason ?? '', /500/);
    assert.ok(on.installed()[0]?.document);
    down = false;
    await eventually(async () => on.installed()[0]?.state === 'admitted');
    assert.is(on.installed()[0]?.trouble, null);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('one byte more is another digest: what was pinned stays out', async () => {
  const on = host();
  const folder = await made();
  const [first] = await settled(on, entry('notes', folder));
  const digest = first?.source_digest ?? '';
  assert.is((await settled(on, entry('notes', folder, { digest })))[0]?.state, 'admitted');
  await writeFile(join(folder, 'more.txt'), '.');
  const again = host();
  const [one] = await settled(again, entry('notes', folder, { digest }));
  assert.is(one?.trouble?.step, 'digest');
});

test.run();
