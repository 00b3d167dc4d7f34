import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSharedProcess } from '../../../../core/cassette/isolation/shared.ts';
import { CassetteDown, type RunningCassette } from '../../../../core/cassette/running.ts';
import { openLog } from '../../../../core/log.ts';
import { eventually } from '../../../support/eventually.ts';
import { cassettes, recordedLog } from '../../../support/started-cassette.ts';

const test = suite('shared process');

type Given = Partial<Parameters<typeof openSharedProcess>[0]>;
type Started = { running: RunningCassette; ask(path: string): Promise<Response> };

async function withShared(
  given: Given,
  use: (
    shared: ReturnType<typeof openSharedProcess>,
    start: (file: string, name?: string) => Promise<Started>,
  ) => Promise<void>,
): Promise<void> {
  const shared = openSharedProcess({ log: openLog('silent'), environment: process.env, ...given });
  const all: RunningCassette[] = [];
  try {
    await use(shared, async (file, name = file) => {
      const entry = join(cassettes, file);
      const { log } = recordedLog();
      const bindingsFor = () => ({ DB: null, CORE: null, CONFIG: { name }, LOG: log });
      const running = await shared.start({ name, folder: dirname(entry), entry, network: true, log, bindingsFor });
      all.push(running);
      return { running, ask: (path) => running.fetch(new Request(`http://cassette${path}`)) };
    });
  } finally {
    await Promise.all(all.map((running) => running.close(1_000)));
    assert.is(shared.pid(), null, 'it ends with the last of them');
  }
}

const pidOf = async ({ ask }: Started) => ((await (await ask('/pid')).json()) as { pid: number }).pid;
const gone = (pid: number) => eventually(() => !existsSync(`/proc/${pid}`));

test('there is no process until one is asked, then both run in it, each with its own bindings', async () => {
  await withShared({}, async (shared, start) => {
    const [one, other] = [await start('friendly.mjs', 'one'), await start('friendly.mjs', 'other')];
    assert.is(await (await one.ask('/ping')).text(), 'pong', 'its health is read in the service');
    assert.is(shared.pid(), null);
    const pids = await Promise.all([pidOf(one), pidOf(other)]);
    assert.equal(pids, [shared.pid(), shared.pid()]);
    assert.is.not(shared.pid(), process.pid);
    assert.is(await (await one.ask('/redirect')).text(), '', 'without a body it is whole');
    assert.is(((await (await one.ask('/env')).json()) as { config: { name: string } }).config.name, 'one');
    assert.is(((await (await other.ask('/env')).json()) as { config: { name: string } }).config.name, 'other');
    assert.is(one.running.confinement.level, 'none');
    if (process.platform === 'linux') assert.ok(getPriority(pids[0]) > getPriority());
  });
});

test('it has the environment that it needs, and none of the settings and secrets of the service', async () => {
  const environment = { ...process.env, SVC_API_TOKEN: 'secret', https_proxy: 'http://proxy' };
  await withShared({ environment }, async (_shared, start) => {
    const { environment: names } = (await (await (await start('friendly.mjs')).ask('/pid')).json()) as {
      environment: string[];
    };
    assert.ok(names.includes('PATH') && names.includes('https_proxy'));
    assert.not.ok(names.some((name) => name.startsWith('SVC_')));
  });
});

test('when it is killed, what was under way is a 502, and the next request starts another', async () => {
  await withShared({}, async (_shared, start) => {
    const one = await start('friendly.mjs', 'one');
    const other = await start('hostile.mjs');
    const pid = await pidOf(one);
    const broken = one.ask('/hangs').catch((error: unknown) => error);
    const stream = (await one.ask('/events')).body?.getReader();
    await stream?.read();
    process.kill(pid, 'SIGKILL');
    const error = await broken;
    assert.ok(error instanceof CassetteDown && error.kind === 'broken', String(error));
    await gone(pid);
    const again = await pidOf(one);
    assert.is.not(again, pid);
    assert.is(one.running.liveness().restarts, 1);
    assert.is((await other.ask('/exit?code=3').catch((thrown: CassetteDown) => thrown.kind)) as unknown, 'broken');
    assert.is.not(await pidOf(one), again);
  });
});

for (const path of ['/scribble', '/close-server'])
  test(`when a channel of it breaks (${path}), it is started again`, async () => {
    await withShared({}, async (_shared, start) => {
      const one = await start('friendly.mjs', 'one'); // its channel is the one that is scribbled on
      const other = await start('hostile.mjs');
      const pid = await pidOf(one);
      await other.ask(path).catch(() => {});
      await gone(pid);
      assert.is.not(await pidOf(one), pid);
    });
  });

test('one that dies again and again is refused until it may be started', async () => {
  await withShared({ backOff: { fromMs: 2_000, toMs: 60_000, forgetMs: 60_000 } }, async (_shared, start) => {
    const one = await start('hostile.mjs');
    await one.ask('/exit?code=1').catch(() => {});
    const refused = await one.ask('/list?path=/').catch((error: unknown) => error);
    assert.ok(refused instanceof CassetteDown && refused.kind === 'unavailable', String(refused));
    assert.match((refused as Error).message, /code 1/);
  });
});

test('it ends when it was idle, not while an answer is read, and a request starts it again', async () => {
  await withShared({ idleMs: 200 }, async (shared, start) => {
    const one = await start('friendly.mjs');
    const stream = (await one.ask('/events')).body?.getReader();
    const pid = shared.pid() ?? 0;
    for (let reads = 0; reads < 40; reads++) await stream?.read(); // each takes 20 ms
    assert.is(shared.pid(), pid);
    await stream?.cancel();
    await gone(pid);
    assert.is(shared.pid(), null);
    assert.equal([one.running.liveness().state, one.running.liveness().restarts], ['up', 0]);
    assert.is.not(await pidOf(one), pid);
  });
});

test('one that is added, and one that leaves, disturbs no other', async () => {
  await withShared({}, async (_shared, start) => {
    const one = await start('friendly.mjs', 'one');
    const first = await pidOf(one);
    const stream = (await one.ask('/events')).body?.getReader();
    await stream?.read();
    const other = await start('friendly.mjs', 'other');
    await pidOf(other);
    for (let reads = 0; reads < 10; reads++) assert.not.ok((await stream?.read())?.done);
    await stream?.cancel();
    await gone(first);
    await other.running.close(0);
    assert.is(typeof (await pidOf(one)), 'number');
    assert.is((await other.ask('/pid').catch((error: CassetteDown) => error.kind)) as unknown, 'unavailable');
  });
});

test('background work starts it only when something changed', async () => {
  let changed = false;
  const changes = async () => ({ seen: '9:9:', changed });
  await withShared({ idleMs: 100, changes }, async (shared, start) => {
    const { running } = await start('friendly.mjs');
    const run = () => running.scheduled({ scheduled_at: 4, signal: new AbortController().signal });
    await run();
    assert.is(shared.pid(), null, 'nothing changed');
    changed = true;
    await run();
    const pid = shared.pid() ?? 0;
    assert.ok(pid > 0);
    await gone(pid);
    changed = false;
    await run();
    assert.is(shared.pid(), null, 'nothing changed since');
  });
});

test('it dies with the service', async () => {
  const program = fileURLToPath(new URL('../../../support/start-shared.ts', import.meta.url));
  const service = spawn(process.execPath, ['--import', 'tsx', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await once(service.stdout, 'data');
  const pid = Number(output);
  assert.ok(existsSync(`/proc/${pid}`));
  service.kill('SIGKILL');
  await gone(pid);
});

test.run();
