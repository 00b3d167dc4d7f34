/** Every role of `svc serve` by itself, on one PostgreSQL: together they are a service, and each says whether it is ready. */
import { readdir, readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SERVICE_FLAGS } from '../../core/service-flags.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { acceptedTurn, derivedSession, plainTurn, postTurn } from '../support/post-turns.ts';
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';
import {
  emptyFolder,
  eventually,
  type ProxyService,
  type RoleService,
  read,
  removeFolder,
  startProxyAlone,
  startRole,
  svc,
} from '../support/serve.ts';
import { type Relay, startRelay } from '../support/tcp-relay.ts';

const INTERNAL = { SVC_INTERNAL_LISTEN: '127.0.0.1:0', SVC_INTERNAL_TOKEN: 'planted-internal-token' };

type Shown = { status: number; body: { status: string; reasons: string[]; remarks: string[] } };
async function readiness({ internal }: Pick<RoleService, 'internal'>): Promise<Shown> {
  const response = await fetch(`${internal}/ready`);
  return { status: response.status, body: (await response.json()) as Shown['body'] };
}

type Context = {
  folder: string;
  env: Record<string, string>;
  provider: ScriptedProvider;
  relay: Relay;
  proxy: ProxyService;
  apis: [RoleService, RoleService];
  ingest: RoleService;
  derives: [RoleService, RoleService];
  undo: (() => Promise<unknown>)[];
};
const test = suite<Context>('roles of svc serve (server)');
const all = ({ proxy, apis, ingest, derives }: Context) => [proxy, ...apis, ingest, ...derives];

test.before(async (context) => {
  context.undo = [];
  context.provider = await startScriptedProvider();
  context.undo.unshift(context.provider.close);
  const { dsn, drop } = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
  context.undo.unshift(drop);
  context.relay = await startRelay(dsn);
  context.undo.unshift(context.relay.cut);
  context.folder = await emptyFolder();
  context.undo.unshift(() => removeFolder(context.folder));
  context.env = {
    ...INTERNAL,
    SVC_PROXY_UPSTREAMS_ANTHROPIC: context.provider.url,
    SVC_STORAGE_POSTGRES_DSN: context.relay.through(dsn),
  };
  const { folder, env } = context;
  // all in one folder, of which a proxy alone takes the lock
  const [proxy, api, otherApi, ingest, derive, otherDerive] = await Promise.all([
    startProxyAlone(folder, env),
    ...(['api', 'api', 'ingest', 'derive', 'derive'] as const).map((role) => startRole(role, folder, env)),
  ] as [Promise<ProxyService>, ...Promise<RoleService>[]]);
  assert.ok(api && otherApi && ingest && derive && otherDerive);
  Object.assign(context, { proxy, apis: [api, otherApi], ingest, derives: [derive, otherDerive] });
  context.undo.unshift(() => Promise.all(all(context).map((one) => one.stop())));
  for (const one of all(context)) await eventually('readiness', async () => (await readiness(one)).status === 200);
});
test.after(async ({ undo }) => {
  for (const step of undo) await step();
});

test('together they are a service: what passes and what is sent is derived, and read at each API', async ({
  proxy,
  apis,
  ingest,
}) => {
  const response = await fetch(`${proxy.proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-harness-session-id': 'roles' },
    body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Through the proxy' }] }),
  });
  assert.is(response.status, 200);
  const { session_id } = await acceptedTurn(ingest, plainTurn('through ingest'));
  for (const api of apis) {
    const derived = await derivedSession(api, session_id, 1);
    assert.is(derived.traces[0]?.trace.response_preview, 'Answer to Question through ingest');
    await eventually('the call', async () => {
      const { items } = await read<{ items: { harness_session_id: string; rollup: { turn_count: number } }[] }>(
        `${api.api}/v1/sessions`,
      );
      return items.find((one) => one.harness_session_id === 'roles')?.rollup.turn_count === 1;
    });
  }
});

test('each API takes edits and demo sessions, which the deriving processes derive', async ({ apis }) => {
  const seeded = await fetch(`${apis[1].api}/v1/admin/seed/demo`, { method: 'POST' });
  assert.is(seeded.status, 200, await seeded.text());
  const { items } = await read<{ items: unknown[] }>(`${apis[0].api}/v1/sessions`);
  assert.ok(items.length >= 12);
  const derived = await fetch(`${apis[0].api}/v1/admin/derive/run`, { method: 'POST' });
  assert.is(derived.status, 200, await derived.text());
});

test('health is at every listener, and each role names itself in its metrics', async ({
  proxy,
  apis,
  ingest,
  derives,
}) => {
  assert.is(await read(`${apis[0].api}/ping`), 'pong');
  assert.equal(await read(`${ingest.ingest}/ping`), { status: 'ok' });
  for (const [role, { internal }] of Object.entries({ proxy, api: apis[0], ingest, derive: derives[0] })) {
    assert.equal(await read(`${internal}/ping`), { status: 'ok' });
    assert.is((await fetch(`${internal}/metrics`)).status, 401);
    const headers = { authorization: `Bearer ${INTERNAL.SVC_INTERNAL_TOKEN}` };
    const metrics = await (await fetch(`${internal}/metrics`, { headers })).text();
    assert.match(metrics, new RegExp(`^svc_build_info\\{[^}]*role="${role}"\\} 1$`, 'm'));
    const evidence = await fetch(`${internal}/internal/readiness/evidence`, { headers });
    assert.is(evidence.status, role === 'api' ? 200 : 404, role);
  }
});

test("a role that is one process has V8's flags, where Node can begin it anew", async ({ apis, ingest, derives }) => {
  const expected = 'execve' in process ? SERVICE_FLAGS : []; // not in Node 20
  for (const { pid } of [...apis, ingest, ...derives]) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    assert.equal(
      words.filter((word) => SERVICE_FLAGS.includes(word)),
      expected,
    );
  }
});

test('the database goes away: all live, those that need it are not ready and say why, and are again when it is back', async (context) => {
  const { relay, proxy, apis, ingest } = context;
  await relay.cut();
  try {
    for (const one of [...apis, ingest, ...context.derives]) {
      const { status, body } = await eventually('it to say so', async () => {
        const shown = await readiness(one);
        return shown.status !== 200 && shown;
      });
      assert.equal([status, body.status, body.reasons], [503, 'unready', ['the database cannot be reached']]);
      assert.equal(await read(`${one.internal}/ping`), { status: 'ok' });
    }
    assert.is((await readiness(proxy)).status, 200, 'calls pass');
    const why = /"reason":"Cannot ask the database: [^"]+"[^\n]*"the queue of sessions cannot be read"/;
    await eventually('its log', async () => why.test(context.derives[0].log()));
    const down = await fetch(`${apis[0].api}/v1/sessions`);
    assert.is(down.status, 503);
    assert.is((await postTurn(ingest, plainTurn('while away'))).status, 503);
  } finally {
    await relay.mend();
  }
  for (const one of all(context)) await eventually('readiness', async () => (await readiness(one)).status === 200);
  await acceptedTurn(ingest, plainTurn('while away'));
});

test('started without the database they live and wait, and serve when it comes', async ({ folder, env, relay }) => {
  await relay.cut();
  const started: RoleService[] = [];
  try {
    for (const role of ['api', 'ingest', 'derive'] as const) started.push(await startRole(role, folder, env));
    const [api, ingest] = started;
    assert.ok(api && ingest);
    for (const one of started) {
      const shown = await eventually('why', async () => {
        const shown = await readiness(one);
        return shown.body.reasons[0] === 'the database cannot be reached' && shown;
      });
      assert.is(shown.status, 503);
      await eventually('its log', async () => one.log().includes('Cannot use the database of storage.postgres_dsn'));
      assert.equal(await read(`${one.internal}/ping`), { status: 'ok' });
    }
    const early = await fetch(`${api.api}/v1/sessions`);
    assert.equal([early.status, early.headers.get('retry-after')], [503, '1']);
    assert.is((await postTurn(ingest, plainTurn('too early'))).status, 503);
  } finally {
    await relay.mend();
  }
  for (const one of started) await eventually('readiness', async () => (await readiness(one)).status === 200);
  const [api, ingest] = started;
  assert.ok(api && ingest);
  const { session_id } = await acceptedTurn(ingest, plainTurn('in time'));
  await derivedSession(api, session_id, 1);
  assert.equal(await Promise.all(started.map((one) => one.stop())), [0, 0, 0]);
});

test('SIGTERM: each ends with status 0, and the folder is left without a lock', async (context) => {
  assert.equal(
    await Promise.all(all(context).map((one) => one.stop())),
    all(context).map(() => 0),
  );
  for (const one of all(context)) assert.not.match(one.log(), /"level":(50|60)[^\n]*(?!Cannot use the database)ended/);
  const left = await readdir(`${context.folder}/.svc`);
  assert.equal(
    left.filter((name) => name.startsWith('lock')),
    [],
  );
});

if (!process.env.SVC_TEST_DSN) console.log('skip: roles of svc serve (server): SVC_TEST_DSN is not set');
else test.run();

const refused = suite('roles of svc serve without a server');
for (const [role, why] of [
  ['api', 'Cannot serve the read API alone: '],
  ['derive', 'Cannot derive alone: '],
] as const)
  refused(`svc serve ${role} needs storage.postgres_dsn, and says so`, async () => {
    const folder = await emptyFolder();
    try {
      const { status, out, err } = await svc(folder, ['serve', role]);
      assert.equal([status, out], [2, '']);
      assert.match(err, why);
      assert.match(err, /storage\.postgres_dsn is not set\n$/);
      assert.equal(await readdir(folder), [], 'and leaves nothing');
    } finally {
      await removeFolder(folder);
    }
  });
refused.run();
