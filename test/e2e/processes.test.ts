/** The processes of `svc serve`: they end together, whatever ends the first of them, and the proxy outlives what is behind it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { builtProgram } from '../support/built-service.ts';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { templateFolder } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';

type Context = { built: string; program: string; provider: ScriptedProvider };
const test = suite<Context>('processes of the service');

test.before(async (context) => {
  context.built = await emptyFolder();
  context.program = await builtProgram(join(context.built, 'package'));
  context.provider = await startScriptedProvider();
});
test.after(async ({ built, provider }) => {
  await provider.close();
  await removeFolder(built);
});

/** A folder with an empty database, which a start would otherwise spend its time on. */
async function folderWithDatabase(): Promise<string> {
  const folder = await emptyFolder();
  await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
  return folder;
}

/** A service in a folder of its own, for as long as the work takes. */
async function serving(
  { program, provider }: Context,
  work: (service: Service, env: Record<string, string>) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const folder = await folderWithDatabase();
  const all = { SVC_PROXY_UPSTREAMS_ANTHROPIC: provider.url, ...env };
  const service = await startService(folder, all, [program]);
  try {
    await work(service, all);
  } finally {
    await service.stop();
    await removeFolder(folder);
  }
}

const call = async ({ proxy }: Pick<Service, 'proxy'>, question: string): Promise<string> => {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: question }] }),
  });
  assert.is(response.status, 200);
  return response.text();
};

const captured = async ({ api }: Pick<Service, 'api'>): Promise<number> =>
  (await read<{ outcomes: { captured: number } }>(`${api}/v1/coverage`)).outcomes.captured;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const allEnd = (pids: readonly number[]) => eventually('all processes to end', async () => !pids.some(isAlive));
const isRefused = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    (error: { cause?: { code?: string } }) => error.cause?.code === 'ECONNREFUSED',
  );

/** The variables of the allocator with which a process was started. */
const allocator = async (pid: number): Promise<string[]> =>
  (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter((variable) => variable.startsWith('MALLOC_'));

test('a service with the embedded database gives free memory back, unless whoever starts it has decided otherwise', async (context) => {
  await serving(context, async (service) => {
    const { proxy, service: pid } = service.processes();
    assert.equal(await allocator(proxy), []);
    assert.equal((await allocator(pid)).sort(), ['MALLOC_TOP_PAD_=524288', 'MALLOC_TRIM_THRESHOLD_=131072']);
  });
  const env = { MALLOC_TRIM_THRESHOLD_: '65536' };
  await serving(
    context,
    async (service) => {
      const variables = await allocator(service.processes().service);
      assert.ok(variables.includes('MALLOC_TRIM_THRESHOLD_=65536'), variables.join(' '));
    },
    env,
  );
});

test('the parent is killed: the others end, the ports are free, and the next start has every answered call', async (context) => {
  const folder = await folderWithDatabase();
  const env = {
    SVC_PROXY_UPSTREAMS_ANTHROPIC: context.provider.url,
    SVC_PROXY_LISTEN: `:${await freePort()}`, // which nobody else is given before the next start
    SVC_API_LISTEN: `:${await freePort()}`,
    SVC_INGEST_LISTEN: `:${await freePort()}`,
  };
  try {
    const service = await startService(folder, env, [context.program]);
    const { proxy, api, ingest } = service;
    const pids = Object.values(service.processes());
    for (let n = 0; n < 5; n++) await call(service, `before ${n}`);
    await service.kill();
    await allEnd(pids);
    for (const url of [proxy, api, ingest]) assert.ok(await isRefused(url), url);

    const again = await startService(folder, env, [context.program]);
    assert.equal([again.proxy, again.api, again.ingest], [proxy, api, ingest]);
    await eventually('the calls', async () => (await captured(again)) === 5);
    assert.is(await again.stop(), 0);
  } finally {
    await removeFolder(folder);
  }
});

const START_MS = 60_000;

/** `svc serve` in a process group of its own, as a terminal starts it. */
async function inGroup({ program }: Context, folder: string, pipeTo: string | null = null) {
  const serve = `exec '${process.execPath}' '${program}' serve`;
  const child: ChildProcess = spawn('bash', ['-c', pipeTo === null ? serve : `(${serve}) | ${pipeTo}`], {
    cwd: folder,
    env: environment(folder),
    stdio: 'ignore',
    detached: true,
  });
  const { pid = 0 } = child;
  const { api, pids } = await upIn(folder).catch((error: unknown) => {
    process.kill(-pid, 'SIGKILL');
    throw error;
  });
  return { child, group: pid, pids, api };
}

const environment = (folder: string) => ({
  ...{ PATH: process.env.PATH, HOME: folder, SVC_CASSETTES_BUILT_IN: 'false' },
  ...{ SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' },
});

const hasScript = spawnSync('script', ['--version']).status === 0;

/** Resolves when the service of the folder is up. `pids`: its parent's first. */
async function upIn(folder: string): Promise<{ proxy: string; api: string; pids: number[] }> {
  const published = join(folder, '.svc', 'service.json');
  type Published = { pid: number; proxy: string; api: string; processes: { state: string; pid: number }[] };
  const { processes, ...parent } = await eventually(
    'it to be up',
    async () => {
      const now = JSON.parse(await readFile(published, 'utf8').catch(() => '{"processes":[]}')) as Published;
      return now.processes.length === 2 && now.processes.every(({ state }) => state === 'up') && now;
    },
    START_MS,
  );
  return { proxy: parent.proxy, api: parent.api, pids: [parent.pid, ...processes.map((one) => one.pid)] };
}

for (const [signal, status] of [
  ['SIGINT', { code: 0, signal: null }],
  ['SIGTERM', { code: 0, signal: null }],
  ['SIGHUP', { code: 0, signal: null }],
] as const)
  test(`${signal} to all of them at once, as from a terminal or systemd: all end, and the status is as ever`, async (context) => {
    const folder = await folderWithDatabase();
    try {
      const { child, group, pids } = await inGroup(context, folder);
      const exited = once(child, 'exit');
      process.kill(-group, signal);
      const [code, by] = await exited;
      assert.equal({ code, signal: by }, status);
      await allEnd(pids);
    } finally {
      await removeFolder(folder);
    }
  });

test('its terminal is closed: a stream under way comes to its end, then all end and nothing is left', async (context) => {
  if (!hasScript) return void console.log("skip: there is no 'script', which makes a terminal");
  const slow = await startScriptedProvider({ delayMs: 60 });
  const folder = await folderWithDatabase();
  const serve = `exec '${process.execPath}' '${context.program}' serve`;
  const terminal = spawn('script', ['-qfec', serve, '/dev/null'], {
    cwd: folder,
    env: { ...environment(folder), SVC_PROXY_UPSTREAMS_OPENAI: slow.url, SVC_LOG_LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  terminal.stdout.resume();
  try {
    const { proxy, pids } = await upIn(folder);
    const response = await fetch(`${proxy}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Under way' }] }),
    });
    terminal.kill('SIGKILL'); // the kernel sends SIGHUP, and writes to the terminal fail with EIO
    assert.match(await response.text(), '[DONE]');
    await allEnd(pids);
    const left = await readdir(join(folder, '.svc'));
    assert.equal(
      left.filter((name) => name === 'service.json' || name.startsWith('lock')),
      [],
    );
  } finally {
    terminal.kill('SIGKILL');
    await slow.close();
    await removeFolder(folder);
  }
});

test('in a pipe whose reader leaves after the first line it goes on, and a stop of the parent alone ends all', async (context) => {
  const folder = await folderWithDatabase();
  try {
    const { child, pids, api } = await inGroup(context, folder, 'head -n 1 > /dev/null');
    const exited = once(child, 'exit');
    assert.is((await fetch(`${api}/ping`)).status, 200);
    process.kill(pids[0] ?? 0, 'SIGTERM');
    await exited;
    await allEnd(pids);
  } finally {
    await removeFolder(folder);
  }
});

test('a service that ends again and again stays down, loudly; the proxy goes on, and status says so', (context) =>
  serving(context, async (service, env) => {
    const first = await call(service, 'while all is well');
    for (let n = 0; n < 6; n++) {
      const { service: pid } = await eventually('a service to end', async () => {
        const now = service.processes();
        return now.service !== 0 && isAlive(now.service) && now;
      });
      process.kill(pid, 'SIGKILL');
      await eventually('it to be gone', async () => service.processes().service !== pid);
    }
    await eventually('it to be said', async () => service.log().includes('the service has ended too often'));
    assert.is(service.processes().service, 0, 'it is not started again at once');
    assert.is((await call(service, 'while it is down')).length > 0, first.length > 0);
    for (const url of [`${service.api}/v1/sessions`, `${service.ingest}/v1/ingest`]) {
      const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      assert.is(response.status, 503, 'and nobody waits for it');
      assert.match(
        ((await response.json()) as { error: string }).error,
        /the service is down: .*; it is tried again in/,
      );
    }
    const { out, status } = await svc(service.folder, ['status'], { ...env });
    assert.is(status, 1);
    assert.not.match(out, 'another program');
    assert.match(out, /service +down, started again 6 times, the last time .* ago: ended by SIGKILL\n/);
    assert.match(out, 'calls pass meanwhile and wait in the journal');
    const from = Date.now();
    assert.is(await service.stop(), 0);
    assert.ok(Date.now() - from < 8_000, 'and it can be stopped');
  }));

const BAD_CASSETTE = `
  if (path.endsWith('/hello') && request.url.includes('exit')) process.exit(3);
  if (path.endsWith('/hello') && request.url.includes('throw')) setTimeout(() => { throw new Error('planted'); });
  if (path.endsWith('/hello') && request.url.includes('eat')) {
    const eaten = [];
    for (;;) eaten.push(Array.from({ length: 100_000 }, () => ({})));
  }`;

test('a cassette in the service’s own process that exits, throws or eats memory ends the service, and no call waits', (context) =>
  serving(
    context,
    async (service) => {
      await cassetteFolder({ name: 'bad', before: BAD_CASSETTE }, join(service.folder, 'bad'));
      const list = { cassettes: [{ name: 'bad', source: './bad', isolation: 'inline' }] };
      await writeFile(join(service.folder, 'cassette.manifest.json'), JSON.stringify(list));
      const hello = `${service.api}/v1/cassettes/bad/hello`;
      const isIn = () => eventually('the cassette', async () => (await fetch(hello).catch(() => null))?.status === 200);
      await isIn();

      let calls = 0;
      const took: number[] = [];
      const p99 = (times: readonly number[]) => [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
      const during = async (work: () => Promise<unknown>) => {
        let over = false;
        const client = (async () => {
          while (!over) {
            const from = performance.now();
            await call(service, `call ${calls++}`);
            took.push(performance.now() - from);
            await new Promise((next) => setTimeout(next, 20));
          }
        })();
        client.catch(() => {}); // awaited below
        await work().finally(() => {
          over = true;
        });
        await client;
      };
      await during(() => new Promise((done) => setTimeout(done, 1_000)));
      const quietMs = p99(took.splice(0));
      for (const [n, how] of ['exit', 'throw', 'eat'].entries())
        await during(async () => {
          const { service: before } = service.processes();
          await fetch(`${hello}?${how}`).catch(() => {});
          await eventually(`the service to end (${how})`, async () => service.processes().service !== before);
          await eventually('the next one', async () => (await fetch(`${service.api}/ping`).catch(() => null))?.ok);
          await isIn();
          assert.is(service.processes().proxy > 0, true);
          assert.match(service.log(), /a process has ended and is started again/, `${n}`);
        });
      assert.ok(
        p99(took) < Math.max(4 * quietMs, 500),
        `p99 of ${took.length} calls ${p99(took)} ms, before ${quietMs} ms`,
      );
      await eventually('all calls', async () => (await captured(service)) === calls);
      const metrics = await (await fetch(`${service.api}/metrics`)).text();
      assert.match(metrics, /^svc_process_restarts_total\{name="service"\} 3$/m);
      assert.match(metrics, /^svc_process_restarts_total\{name="proxy"\} 0$/m);
    },
    { NODE_OPTIONS: '--max-old-space-size=200' },
  ));

test('no counter falls when a process is started again', (context) =>
  serving(context, async (service) => {
    const counters = async () => {
      const text = await (await fetch(`${service.api}/metrics`)).text();
      const found = [...text.matchAll(/^(svc_\w+_(?:total|count|sum|bucket)(?:\{[^}]*\})?) (\S+)$/gm)];
      return new Map(found.map(([, name = '', value]) => [name, Number(value)]));
    };
    for (let n = 0; n < 3; n++) await call(service, `counted ${n}`);
    // Each process counts after what it counts is done: what is stored may be read before it is counted.
    const reach = (counter: string, value: number) =>
      eventually(`${counter} of ${value}`, async () => (await counters()).get(counter) === value);
    await reach('svc_intake_turns_total{outcome="captured"}', 3);
    await reach('svc_proxy_requests_total{provider="anthropic",outcome="captured"}', 3);
    let before = await counters();
    for (const name of ['service', 'proxy', 'service'] as const) {
      const pid = service.processes()[name];
      process.kill(pid, 'SIGKILL');
      await eventually('the next one', async () => ![0, pid].includes(service.processes()[name]));
      const after = await counters();
      for (const [counter, value] of before) assert.ok((after.get(counter) ?? 0) >= value, `${counter} after ${name}`);
      before = after;
    }
    await call(service, 'one more');
    await reach('svc_proxy_requests_total{provider="anthropic",outcome="captured"}', 4);
  }));

test('a stop with nothing under way takes less than two seconds, whatever waits to be derived', (context) =>
  serving(context, async (service) => {
    await Promise.all(Array.from({ length: 300 }, (_, n) => call(service, `to be derived ${n}`)));
    const from = Date.now();
    assert.is(await service.stop(), 0);
    assert.ok(Date.now() - from < 2_000 * 4, `${Date.now() - from} ms`);
  }));

test.run();
