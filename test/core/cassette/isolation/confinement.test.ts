import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CONFINEMENT_LEVELS, findSystemSupport } from '../../../../core/cassette/isolation/confinement.ts';
import { eventually } from '../../../support/eventually.ts';
import { emptyFolder, withCassette } from '../../../support/started-cassette.ts';

const test = suite('confinement');

const tmp = emptyFolder();
const walls = CONFINEMENT_LEVELS.slice(CONFINEMENT_LEVELS.indexOf((await findSystemSupport(tmp)).wall));

const listening = async (server: Server, on: number | string): Promise<Server> => {
  if (typeof on === 'number') server.listen(on, '127.0.0.1');
  else server.listen(on);
  await once(server, 'listening');
  return server;
};
const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

for (const wall of walls)
  test(`${wall}: in a folder that holds the service's own, all but that can be read`, async () => {
    const folder = emptyFolder();
    for (const path of ['.svc', '.svcs', 'lib']) mkdirSync(join(folder, path));
    for (const path of ['.svc/config.toml', '.svcs/own', 'lib/own', '.s', 'own.json', 'readme'])
      writeFileSync(join(folder, path), 'text');
    await withCassette('hostile.mjs', { wall, folder }, async ({ readJson }) => {
      const refused = async (what: string) => 'refused' in (await readJson(what));
      for (const path of ['.svcs/own', 'lib/own', '.s', 'own.json', 'readme'])
        assert.not.ok(await refused(`/read?path=${join(folder, path)}`), path);
      for (const path of ['.svc/config.toml', 'lib/../.svc/config.toml'])
        assert.ok(await refused(`/read?path=${join(folder, path)}`), path);
      assert.ok(await refused(`/read?path=${folder}/lib/../.svc/config.toml`));
      assert.ok(await refused(`/list?path=${join(folder, '.svc')}`));
    });
  });

test("a name that Node would read as a pattern keeps a cassette from starting beside the service's own folder", async () => {
  const folder = emptyFolder();
  mkdirSync(join(folder, '.svc'));
  writeFileSync(join(folder, '.s*'), '');
  const error = await withCassette('hostile.mjs', { folder }, async () => {}).catch((thrown: Error) => thrown);
  assert.match(error?.message ?? '', /cannot be kept from '.*\/\.svc'.*move the cassette into a folder of its own$/);
});

for (const wall of walls) {
  for (const network of [false, true]) {
    test(`${wall}${network ? ' with network' : ''}: what the confinement says it stops is stopped, and what not is not`, async () => {
      const folder = emptyFolder();
      const beside = `${folder}-beside`;
      mkdirSync(beside);
      writeFileSync(join(beside, 'secret'), 'secret');
      symlinkSync(join(beside, 'secret'), join(folder, 'link'));
      const socketPath = join(beside, 's');
      const port = await listening(createServer(), 0);
      const socket = await listening(createServer(), socketPath);
      const victim = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' });
      await withCassette('hostile.mjs', { wall, module: { network }, folder }, async ({ running, readJson }) => {
        const { level, stops, does_not_stop } = running.confinement;
        const says = (words: string): boolean => {
          const stopped = stops.some((claim) => claim.includes(words));
          const open = does_not_stop.some((claim) => claim.includes(words));
          assert.is(stopped !== open, true, `${words}: said once`);
          return stopped;
        };
        const refused = async (path: string) => 'refused' in (await readJson(path));
        assert.is(level, wall === 'jail' && !network ? 'full' : 'partial');

        assert.ok(says('the environment of the service'));
        const { env, argv } = await readJson('/environment');
        assert.equal(env, {});
        assert.is(argv, 3);

        assert.ok(says('writing files'));
        for (const path of [join(folder, 'x'), join(beside, 'x'), '/tmp/x-of-a-cassette']) {
          assert.ok(await refused(`/write?path=${path}`), path);
          assert.not(existsSync(path));
        }

        assert.ok(says('starting processes or threads, loading native addons, opening a debugger'));
        for (const path of ['/spawn', '/thread', '/addon?path=/x.node', '/debugger'])
          assert.ok(await refused(path), path);

        assert.not(await refused(`/read?path=${join(folder, 'hostile.mjs')}`), 'its own folder is readable');
        for (const path of ['/etc/passwd', join(beside, 'secret'), '/proc/1/environ', '/proc/self/maps']) {
          assert.ok(await refused(`/read?path=${path}`), path);
        }
        for (const path of ['/', beside, process.cwd()]) assert.ok(await refused(`/list?path=${path}`), path);
        assert.is(await refused(`/read?path=${join(folder, 'link')}`), says('reading files'));

        assert.is(await refused(`/connect?host=127.0.0.1&port=${portOf(port)}`), says('ports of this one'));
        assert.is(await refused(`/socket?path=${socketPath}`), says('sockets in the file system'));
        assert.is(await refused(`/signal?pid=${victim.pid}&signal=SIGKILL`), says('signals to other processes'));
      });
      const died = eventually(() => victim.signalCode !== null).then(
        () => true,
        () => false,
      );
      if (wall === 'jail' || wall === 'namespaces') assert.is(victim.exitCode ?? victim.signalCode, null);
      else assert.ok(await died);
      victim.kill('SIGKILL');
      port.close();
      socket.close();
      rmSync(beside, { recursive: true });
    });
  }

  test(`${wall}: a signal to its process group ends itself and nobody else`, async () => {
    let received = 0;
    const count = () => {
      received += 1;
    };
    process.on('SIGUSR2', count);
    await withCassette('hostile.mjs', { wall }, async ({ running, ask }) => {
      await ask('/signal?pid=0&signal=SIGUSR2').catch(() => {});
      await eventually(() => running.liveness().state === 'restarting');
    });
    process.off('SIGUSR2', count);
    assert.is(received, 0);
  });

  test(`${wall}: a loop beside a full thread pool keeps one processor busy, where that is said`, async () => {
    await withCassette('hostile.mjs', { wall }, async ({ running, readJson }) => {
      const { seen, busy } = await readJson('/processors');
      const { stops, does_not_stop } = running.confinement;
      if (wall === 'permissions') return assert.ok(does_not_stop.includes('keeping several processors busy'));
      assert.ok(stops.includes('keeping more than one processor busy'));
      assert.is(seen, 1);
      assert.ok(Number(busy) < 1.25, `it had ${busy} processors`);
    });
  });

  if (wall !== 'permissions') {
    test(`${wall}: memory beside the heap is bounded too`, async () => {
      await withCassette('hostile.mjs', { wall, memory_mb: 64 }, async ({ running, ask }) => {
        assert.ok(running.confinement.stops.includes('more memory than 192 MB beside what Node itself takes'));
        const ended = `${await ask('/exhaust-buffers').catch(String)}`;
        assert.match(ended, /it ran out of memory|its fetch threw/); // from Node 26 on, a buffer may be refused instead
      });
    });
  }
}

test('the highest wall that stands is taken', async () => {
  await withCassette('friendly.mjs', {}, async ({ running, ask }) => {
    assert.is(running.confinement.level === 'full', walls[0] === 'jail');
    assert.is(await (await ask('/ping')).text(), 'pong');
  });
});

test.after(() => rmSync(tmp, { recursive: true }));
test.run();
