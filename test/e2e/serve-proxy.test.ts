/** `svc serve proxy`: calls pass and are kept, whatever the database does; a service beside it derives them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';
import {
  emptyFolder,
  eventually,
  type ProxyService,
  read,
  removeFolder,
  type Service,
  startProxyAlone,
  startService,
  svc,
} from '../support/serve.ts';
import { type Relay, startRelay } from '../support/tcp-relay.ts';

const INTERNAL = { SVC_INTERNAL_LISTEN: '127.0.0.1:0', SVC_INTERNAL_TOKEN: 'planted-internal-token' };

type ChatMessage = { role: 'user' | 'assistant'; content: string };

/** A call as a client makes it that nobody names; the answer is an echo of its last question. */
async function chat(proxy: string, messages: readonly ChatMessage[], stream = false): Promise<string> {
  const response = await fetch(`${proxy}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer planted-client-key' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages, stream }),
  });
  assert.is(response.status, 200);
  if (stream) return response.text();
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

const question = (content: string): ChatMessage => ({ role: 'user', content });
const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

const metricsOf = async (proxy: ProxyService): Promise<string> => {
  const headers = { authorization: `Bearer ${INTERNAL.SVC_INTERNAL_TOKEN}` };
  return (await fetch(`${proxy.internal}/metrics`, { headers })).text();
};
const figure = (metrics: string, name: string): number =>
  Number(metrics.match(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm'))?.[1]);

const captured = async ({ api }: Pick<Service, 'api'>): Promise<number> =>
  (await read<{ outcomes: Record<string, number> }>(`${api}/v1/coverage`)).outcomes.captured ?? 0;

type Item = { raw_turn_count: number; rollup: { turn_count: number } };
const sessionsOf = async ({ api }: Pick<Service, 'api'>): Promise<Item[]> =>
  (await read<{ items: Item[] }>(`${api}/v1/sessions`)).items;

type Context = {
  provider: ScriptedProvider;
  dsn: string;
  relay: Relay;
  whole: Service;
  env: Record<string, string>;
  undo: (() => Promise<unknown>)[];
};
const test = suite<Context>('svc serve proxy (server)');

test.before(async (context) => {
  context.undo = [];
  context.provider = await startScriptedProvider();
  context.undo.unshift(context.provider.close);
  const { dsn, drop } = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
  context.undo.unshift(drop);
  const relay = await startRelay(dsn);
  context.undo.unshift(relay.cut);
  const folder = await emptyFolder();
  context.undo.unshift(() => removeFolder(folder));
  const upstream = { SVC_PROXY_UPSTREAMS_OPENAI: context.provider.url };
  const whole = await startService(folder, { ...upstream, SVC_STORAGE_POSTGRES_DSN: dsn });
  context.undo.unshift(() => whole.stop());
  const env = { ...upstream, ...INTERNAL, SVC_STORAGE_POSTGRES_DSN: relay.through(dsn) };
  Object.assign(context, { dsn, relay, whole, env });
});
test.after(async ({ undo }) => {
  for (const step of undo) await step();
});

/** A proxy in a folder of its own, for as long as the work takes. */
async function beside(
  env: Record<string, string>,
  work: (proxy: ProxyService) => Promise<unknown>,
  folder?: string,
): Promise<void> {
  const own = folder ?? (await emptyFolder());
  const proxy = await startProxyAlone(own, env);
  try {
    await work(proxy);
  } finally {
    await proxy.stop();
    if (!folder) await removeFolder(own);
  }
}

test('a conversation goes on in its session, whichever proxy its calls pass', ({ whole, env }) =>
  beside(env, (one) =>
    beside(env, async (other) => {
      const before = (await sessionsOf(whole)).length;
      const messages = [question('Shared')];
      for (const [n, { proxy }] of [one, whole, other].entries()) {
        const reply = await chat(proxy, messages);
        messages.push(answer(reply), question(`And ${n}`));
        await eventually('the turn', async () => (await sessionsOf(whole))[0]?.raw_turn_count === n + 1);
      }
      const sessions = await sessionsOf(whole);
      assert.is(sessions.length, before + 1);
      await eventually('the projection', async () => (await sessionsOf(whole))[0]?.rollup.turn_count === 3);
    }),
  ));

test('no database from the very start: it serves, says so, waits, and what it kept comes in whole', async ({
  whole,
  env,
  relay,
}) => {
  const folder = await emptyFolder();
  const begun = await chat(whole.proxy, [question('Away')]);
  await eventually('the turn', async () => (await sessionsOf(whole))[0]?.rollup.turn_count === 1);
  const before = await captured(whole);
  const sessions = (await sessionsOf(whole)).length;
  await relay.cut();
  try {
    await beside(
      env,
      async (proxy) => {
        const messages = [question('Away'), answer(begun), question('And now')];
        for (let n = 0; n < 3; n++) messages.push(answer(await chat(proxy.proxy, messages)), question(`Away ${n}`));
        assert.match(await chat(proxy.proxy, [question('Streamed')], true), '[DONE]');
        const logged = await eventually(
          'it to say so',
          async () => /Cannot use the database[^\n]*/.exec(proxy.log())?.[0],
        );
        assert.match(logged, 'calls pass, and wait in the journal');
        const waiting = await eventually('calls to wait', async () => {
          const seconds = figure(await metricsOf(proxy), 'svc_journal_oldest_seconds');
          return seconds > 0 && seconds;
        });
        await eventually('the age to grow', async () => {
          return figure(await metricsOf(proxy), 'svc_journal_oldest_seconds') > waiting + 1;
        });
        assert.is(await captured(whole), before);

        await relay.mend();
        await eventually('all to be stored', async () => (await captured(whole)) === before + 4);
        await eventually('nothing to wait', async () => {
          return figure(await metricsOf(proxy), 'svc_journal_oldest_seconds') === 0;
        });
        assert.match(proxy.log(), 'The database answers');

        // a conversation that nobody names is the one that it continues, though no database was there to tell the client by
        await chat(whole.proxy, messages);
        await eventually('the next turn', async () => (await captured(whole)) === before + 5);
        assert.is((await sessionsOf(whole)).length, sessions + 1); // the streamed call is a conversation of its own
      },
      folder,
    );

    await relay.cut();
    await beside(env, async (proxy) => void (await chat(proxy.proxy, [question('Of a process that ended')])), folder);
    assert.is(await captured(whole), before + 5);
    await relay.mend();
    await beside(
      env,
      () => eventually('what the last process kept', async () => (await captured(whole)) === before + 6),
      folder,
    );
  } finally {
    await relay.cut().catch(() => {});
    await relay.mend();
    await removeFolder(folder);
  }
});

test('a database that refuses is waited for like one that is away', async ({ env, dsn }) => {
  const wrong = new URL(dsn);
  wrong.pathname = '/svc_no_such_database';
  await beside({ ...env, SVC_STORAGE_POSTGRES_DSN: wrong.href }, async (proxy) => {
    await chat(proxy.proxy, [question('Refused')]);
    await eventually('it to say so', async () => proxy.log().includes('svc_no_such_database'));
    assert.not.match(proxy.log(), /the engine (failed|ended)/);
    assert.not.match(proxy.log(), wrong.password || 'postgres://');
  });
});

test('its own listener belongs to the upstream; health, readiness and metrics are at the internal one', ({
  env,
  provider,
}) =>
  beside({ ...env, SVC_PROXY_PROVIDER: 'openai' }, async (proxy) => {
    for (const path of ['/ping', '/metrics', '/openapi', '/v1/sessions']) {
      const response = await fetch(`${proxy.proxy}${path}`);
      assert.equal([response.status, await response.text()], [200, '{"data":[]}'], path);
      assert.is(provider.requests.at(-1)?.url, path);
    }
    assert.match(proxy.banner, /internal +http:\/\/\S+ +\/ping, \/ready, \/metrics\n/);
    assert.not.match(proxy.banner, /read API|ingest API/);
    for (const path of ['/metrics', '/internal/readiness/evidence'])
      assert.is((await fetch(`${proxy.internal}${path}`)).status, 401, path);
    assert.equal(await (await fetch(`${proxy.internal}/ready`)).json(), { status: 'ready', reasons: [], remarks: [] });
    const headers = { authorization: `Bearer ${INTERNAL.SVC_INTERNAL_TOKEN}` };
    assert.equal(await (await fetch(`${proxy.internal}/ping`, { headers })).json(), { status: 'ok' });
    assert.is((await fetch(`${proxy.internal}/internal/readiness/evidence`, { headers })).status, 404);
    const metrics = await metricsOf(proxy);
    assert.match(metrics, /^svc_build_info\{[^}]*role="proxy"\} 1$/m);
    assert.is(figure(metrics, 'svc_proxy_requests_total{provider="openai",outcome="not_a_turn"}') > 0, true);
  }));

test('SIGTERM: a stream under way comes to its end, its turn is stored, then it ends', async ({ whole, env }) => {
  const slow = await startScriptedProvider({ delayMs: 40 });
  const folder = await emptyFolder();
  const proxy = await startProxyAlone(folder, { ...env, SVC_PROXY_UPSTREAMS_OPENAI: slow.url });
  try {
    const before = await captured(whole);
    const response = await fetch(`${proxy.proxy}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [question('Under way')] }),
    });
    const ended = proxy.stop();
    assert.match(await response.text(), '[DONE]');
    assert.is(await ended, 0);
    assert.is(await captured(whole), before + 1, 'stored when the process ends');
    assert.equal(
      await readdir(join(folder, '.svc')).then((names) => names.filter((name) => name.startsWith('lock'))),
      [],
    );
  } finally {
    await proxy.stop();
    await slow.close();
    await removeFolder(folder);
  }
});

test('two on one folder: the second says which process has it', ({ env }) =>
  beside(env, async ({ folder, pid }) => {
    const second = await startProxyAlone(folder, env).catch((error: Error) => error.message);
    assert.type(second, 'string');
    assert.match(String(second), `process ${pid} has used it since`);
  }));

test('without storage.postgres_dsn it says what is missing, and does not start', async () => {
  const folder = await emptyFolder();
  try {
    const { status, out, err } = await svc(folder, ['serve', 'proxy'], { SVC_PROXY_LISTEN: ':0' });
    assert.equal([status, out], [2, '']);
    assert.match(err, /^Cannot serve the proxy alone: .*storage\.postgres_dsn is not set\n$/);
    assert.equal(await readdir(folder), [], 'and leaves nothing');
  } finally {
    await removeFolder(folder);
  }
});

if (!process.env.SVC_TEST_DSN) console.log('skip: svc serve proxy (server): SVC_TEST_DSN is not set');
else test.run();
