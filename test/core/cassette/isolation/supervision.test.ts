import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findSystemSupport } from '../../../../core/cassette/isolation/confinement.ts';
import { startProcess } from '../../../../core/cassette/isolation/process.ts';
import { CassetteDown, Rejection } from '../../../../core/cassette/running.ts';
import { eventually } from '../../../support/eventually.ts';
import { cassettes, emptyFolder, processesOf, recordedLog, withCassette } from '../../../support/started-cassette.ts';

const test = suite('supervision');

const quick = { heartbeat: { everyMs: 50, withinMs: 1_000 }, backOff: { fromMs: 10, toMs: 100, forgetMs: 60_000 } };

const down = async (answer: Promise<unknown>): Promise<CassetteDown> => {
  const error = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CassetteDown)) throw new Error(`Expected CassetteDown, got ${error}`);
  return error;
};

const patient = { heartbeat: { everyMs: 50, withinMs: 60_000 } };

const deaths: [what: string, path: string, reason: RegExp][] = [
  ['it exits', '/exit?code=7', /^it ended with code 7$/],
  ['it exits as if all were well', '/exit?code=0', /^it ended with code 0$/],
  ['it leaves a rejection unhandled', '/reject', /^it ended by a rejection that nothing handled/],
  ['it leaves an exception uncaught', '/throw-later', /^it ended by an exception that nothing caught/],
  ['it fills its memory', '/exhaust', /^it ran out of memory$/],
  ['it loops', '/loop', /^it was ended: no answer to its heartbeat for 1 s$/],
  ['it closes its own server', '/close-server', /^it ended since its channel to the service broke$/],
  ['it writes garbage to its channel', '/scribble', /channel|heartbeat/],
];

for (const [what, path, reason] of deaths) {
  test(`when ${what}, the request breaks with the reason, and it is started again`, async () => {
    await withCassette(
      'hostile.mjs',
      { ...quick, memory_mb: 64, ...(path === '/exhaust' ? patient : {}) },
      async ({ running, ask, lines, tmp }) => {
        const other = down(ask('/hold'));
        const broken = await down(ask(path));
        assert.is(broken.kind, 'broken');
        assert.match(broken.message, running.liveness().reason ?? 'a reason');
        assert.match(running.liveness().reason ?? '', reason);
        assert.is((await other).kind, 'broken', 'and every other under way');
        await eventually(() => running.liveness().state === 'up');
        assert.is(running.liveness().restarts, 1);
        assert.is(await (await ask('/ping')).text(), 'pong');
        assert.ok(lines.some(({ message }) => message.includes('started again')));
        assert.is(readdirSync(tmp).length, 1, 'only the folder of the life that goes on');
      },
    );
  });
}

test('it is started again where the folder of the service is gone, as /tmp is tidied', async () => {
  await withCassette('hostile.mjs', quick, async ({ running, ask, tmp }) => {
    rmSync(tmp, { recursive: true });
    await down(ask('/exit?code=7'));
    await eventually(() => running.liveness().state === 'up');
    assert.is(running.liveness().restarts, 1);
    assert.is(await (await ask('/ping')).text(), 'pong');
    assert.equal([readdirSync(tmp).length, statSync(tmp).mode & 0o777], [1, 0o700]);
  });
});

test('meanwhile it is unavailable', async () => {
  const backOff = { fromMs: 60_000, toMs: 60_000, forgetMs: 60_000 };
  await withCassette('hostile.mjs', { ...quick, backOff }, async ({ running, ask, folder }) => {
    await down(ask('/exit?code=7'));
    const unavailable = await down(ask('/ping'));
    assert.is(unavailable.kind, 'unavailable');
    assert.match(unavailable.message, 'it is started again, since it ended with code 7');
    assert.is(running.liveness().state, 'restarting');
    assert.is(processesOf(folder), 0);
  });
});

test('each start after a death waits twice as long as the one before, up to a bound', async () => {
  const backOff = { fromMs: 10, toMs: 40, forgetMs: 60_000 };
  await withCassette('hostile.mjs', { ...quick, backOff }, async ({ running, ask, lines }) => {
    for (let death = 0; death < 4; death += 1) {
      await down(ask('/exit?code=7'));
      await eventually(() => running.liveness().state === 'up');
    }
    const waits = lines.map(({ fields }) => fields.again_in_ms).filter((ms) => ms !== undefined);
    assert.equal(waits, [10, 20, 40, 40]);
  });
});

test('one that was up for long enough is started again at once', async () => {
  const backOff = { fromMs: 10, toMs: 40, forgetMs: 0 };
  await withCassette('hostile.mjs', { ...quick, backOff }, async ({ running, ask, lines }) => {
    for (let death = 0; death < 3; death += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await down(ask('/exit?code=7'));
      await eventually(() => running.liveness().state === 'up');
    }
    assert.equal(
      lines.map(({ fields }) => fields.again_in_ms).filter((ms) => ms !== undefined),
      [10, 10, 10],
    );
  });
});

test('what it is bindingsFor is asked for at each start, and a refusal there is the reason', async () => {
  let starts = 0;
  const bindingsFor = () => {
    starts += 1;
    if (starts > 1) throw new Rejection('config', 'Cannot start "tried": a setting is missing');
    return { DB: null, CORE: null, CONFIG: {}, LOG: recordedLog().log };
  };
  await withCassette('hostile.mjs', { ...quick, module: { bindingsFor } }, async ({ running, ask }) => {
    await down(ask('/exit?code=7'));
    await eventually(() => starts > 2);
    assert.match(running.liveness().reason ?? '', /a setting is missing$/);
  });
});

const answers: [what: string, path: string, message: RegExp][] = [
  ['throws', '/throw', /its fetch threw over this request/],
  ['answers what is no Response', '/garbage', /no Response/],
  ['answers nothing', '/nothing', /no Response/],
  ['answers Response.error()', '/no-status', /its answer has the status 0$/],
  ['sends a header without measure', '/huge-header', /headers of its answer are longer/],
];
for (const [what, path, message] of answers) {
  test(`one that ${what} broke over this request, and goes on`, async () => {
    await withCassette('hostile.mjs', quick, async ({ running, ask }) => {
      const broken = await down(ask(path));
      assert.is(broken.kind, 'broken');
      assert.match(broken.message, message);
      assert.is((await ask('/ping')).status, 200);
      assert.is(running.liveness().restarts, 0);
    });
  });
}

test('an answer that breaks off is never taken for a whole one', async () => {
  await withCassette('hostile.mjs', quick, async ({ ask }) => {
    const failed = await ask('/fails-midway');
    assert.is((await down(failed.text())).kind, 'broken');
    const died = await ask('/dies-midway');
    assert.match((await down(died.text())).message, 'it ended with code 9');
  });
});

test('a flood of output is cut, counted and slowed, and answers go on', async () => {
  await withCassette('hostile.mjs', {}, async ({ ask, lines }) => {
    await Promise.all([ask('/flood'), ask('/no-newline'), ask('/flood-log')]);
    await eventually(() => lines.some(({ fields }) => Number(fields.dropped) > 1_000));
    assert.is((await ask('/ping')).status, 200);
    assert.ok(lines.length < 500, `${lines.length} lines were kept`);
    assert.ok(lines.every(({ message }) => message.length <= 2_000));
  });
});

const failures: [file: string, reason: RegExp][] = [
  ['throws-at-import.mjs', /^Cannot start "tried": it throws when it is loaded: Error: no luck today$/],
  ['without-fetch.mjs', /^Cannot start "tried": its default export has no function fetch$/],
  ['hangs-at-import.mjs', /^Cannot start "tried": it has not loaded within 1 s/],
  ['loops-at-import.mjs', /^Cannot start "tried": it has not loaded within 1 s/],
  ['exits-at-import.mjs', /^Cannot start "tried": it ended with code 7/],
  ['eats-at-import.mjs', /^Cannot start "tried": it ran out of memory \((?!.*0x).*heap.*\)$/],
];
for (const [file, reason] of failures) {
  test(`${file} is refused at the step start, and leaves nothing`, async () => {
    const [folder, tmp] = [emptyFolder(), emptyFolder()];
    cpSync(join(cassettes, file), join(folder, file));
    const { log } = recordedLog();
    const bindingsFor = () => ({ DB: null, CORE: null, CONFIG: {}, LOG: log });
    const module = { name: 'tried', folder, entry: join(folder, file), network: false, log, bindingsFor };
    const hangs = reason.source.includes('has not loaded'); // the others are told as soon as they end
    const error = await startProcess(module, { tmp, loadMs: hangs ? 1_000 : 10_000 }).catch(
      (thrown: unknown) => thrown,
    );
    assert.instance(error, Rejection);
    assert.is((error as Rejection).step, 'start');
    assert.match((error as Rejection).message, reason);
    assert.equal(readdirSync(tmp), []);
    assert.is(processesOf(folder), 0);
    for (const path of [folder, tmp]) rmSync(path, { recursive: true });
  });
}

test('closing waits for what is under way, no longer than it may, and leaves no process and no folder', async () => {
  await withCassette('friendly.mjs', {}, async ({ running, ask, lines, folder, tmp }) => {
    await ask('/later');
    const hanging = down(ask('/hangs'));
    await running.close(2_000);
    assert.ok(lines.some(({ message }) => message === 'it was waited for'));
    assert.is((await hanging).kind, 'broken');
    assert.equal(readdirSync(tmp), []);
    assert.is(processesOf(folder), 0);
    assert.equal(running.liveness().state, 'closed');
    assert.is((await down(ask('/ping'))).kind, 'unavailable');
  });
});

test('closing lets an answer come to its end at the pace of its reader', async () => {
  await withCassette('friendly.mjs', {}, async ({ running, ask }) => {
    const answer = await ask('/ndjson?lines=2000');
    const closed = running.close(10_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.is((await answer.text()).split('\n').length, 2_001);
    await closed;
  });
});

test('closing while it is started again leaves nothing', async () => {
  await withCassette('hostile.mjs', quick, async ({ running, ask, folder, tmp }) => {
    await down(ask('/exit?code=7'));
    await eventually(() => readdirSync(tmp).length > 0);
    await running.close(0);
    assert.equal(readdirSync(tmp), []);
    assert.is(processesOf(folder), 0);
  });
});

test('it ends with a service that is killed, even in an endless loop', async () => {
  const [folder, tmp] = [emptyFolder(), emptyFolder()];
  cpSync(join(cassettes, 'hostile.mjs'), join(folder, 'hostile.mjs'));
  const path = (await findSystemSupport(tmp)).wall === 'permissions' ? '/hold' : '/loop';
  const holding = fileURLToPath(new URL('../../../support/holding-cassette.ts', import.meta.url));
  const service = spawn(process.execPath, ['--import', 'tsx', holding, folder, 'hostile.mjs', tmp, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(service.stdout, 'data');
  assert.ok(processesOf(folder) > 1);
  service.kill('SIGKILL');
  await once(service, 'exit');
  await eventually(() => processesOf(folder) === 0, 10_000);
  for (const left of [folder, tmp]) rmSync(left, { recursive: true });
});

test.run();
