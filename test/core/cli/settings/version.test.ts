import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isNewer } from '../../../../core/cli/settings/latest-version.ts';
import { looksForUpdates, startUpdateChecks } from '../../../../core/cli/settings/update-checks.ts';
import { Config } from '../../../../core/config/schema.ts';
import { openLog } from '../../../../core/log.ts';
import { packageRoot } from '../../../../core/package-root.ts';
import { eventually } from '../../../support/eventually.ts';
import { type NpmRegistry, startRegistry } from '../../../support/npm-registry.ts';
import { svcIn } from '../../../support/run-program.ts';

const test = suite('svc version');
let base = '';
let home = '';
let registry: NpmRegistry;
test.before(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-version-'));
  home = join(base, 'home');
  const folder = join(base, 'package');
  mkdirSync(home);
  mkdirSync(folder);
  registry = await startRegistry(home);
  writeFileSync(join(home, '.npmrc'), `registry=${registry.origin}\n`);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@svc-capture/svc', version: '9.8.7' }));
  await registry.publish(folder);
});
test.after(() => {
  registry.close();
  rmSync(base, { recursive: true, force: true });
});

/** Requests for the package; npm makes others of its own. */
const requests = () => registry.requests.filter((path) => path.includes('svc-capture')).length;
const env = () => ({ PATH: process.env.PATH ?? '', HOME: home, SVC_API_TOKEN: 'planted-token' });
const version = (...args: string[]) => svcIn({ cwd: base, home, env: env() }, 'version', ...args);

test('what is installed, and no request', async () => {
  const { status, out, err } = await version();
  assert.equal([status, err], [0, '']);
  assert.is(out, `svc 1.2.3\nNode ${process.versions.node}\n${packageRoot()}\n`);
  assert.is(requests(), 0);
});

test('--check finds a newer version by npm', async () => {
  const { status, out, err } = await version('--check');
  assert.is(status, 0, err);
  assert.match(out, /^svc 1\.2\.3\n/);
  assert.is(err, 'svc 9.8.7 is out: npm install --global @svc-capture/svc@9.8.7\n');
  assert.is(requests(), 1);
  const { latest, is_newer_out, problem } = JSON.parse((await version('--check', '--json')).out);
  assert.equal([latest, is_newer_out, problem], ['9.8.7', true, null]);
});

test('without a network, or without npm: one sentence and status 1', async () => {
  const offline = { ...env(), npm_config_registry: 'http://127.0.0.1:1' };
  const { status, out, err } = await svcIn({ cwd: base, home, env: offline }, 'version', '--check');
  assert.is(status, 1);
  assert.match(out, 'svc 1.2.3');
  assert.match(
    err,
    /^Cannot find the newest version: npm cannot reach its registry \(ECONNREFUSED\); is this machine offline\?\n$/,
  );
  const none = await svcIn({ cwd: base, home, env: { PATH: base } }, 'version', '--check', '--json');
  assert.is(none.status, 1);
  assert.match(JSON.parse(none.out).problem, "there is no 'npm' on the PATH");
});

test('the registry of a project does not count', async () => {
  const project = join(base, 'project');
  mkdirSync(project);
  writeFileSync(join(project, '.npmrc'), 'registry=http://127.0.0.1:1\n');
  assert.is((await svcIn({ cwd: project, home, env: env() }, 'version', '--check')).status, 0);
});

test('a service looks once a day, and only where update.disabled is false on purpose', async () => {
  const config = (update: object) => ({ config: Config.parse({ update }) });
  assert.equal(
    [{}, { disabled: true }, { disabled: false }].map((update) => looksForUpdates(config(update))),
    [false, false, true],
  );

  const folder = join(base, '.svc');
  mkdirSync(folder);
  const options = { version: '1.2.3', folder, log: openLog('silent'), io: { env: env(), home } };
  const before = requests();
  const first = startUpdateChecks(options);
  const file = join(folder, 'update.json');
  const found = () => readFileSync(file, 'utf8').includes('9.8.7');
  await eventually(() => existsSync(file) && found());
  first.stop();
  const again = startUpdateChecks(options); // a restart on the same day
  await new Promise((done) => setTimeout(done, 500));
  again.stop();
  assert.is(requests(), before + 1);

  const shown = await version();
  assert.match(shown.err, 'svc 9.8.7 is out');
  assert.is(requests(), before + 1);

  writeFileSync(file, JSON.stringify({ checked_at: new Date(Date.now() - 90_000_000).toISOString(), latest: '1.2.3' }));
  const nextDay = startUpdateChecks(options);
  await eventually(found);
  nextDay.stop();
});

test('a service whose file cannot be written looks again the next day', async () => {
  const folder = join(base, 'no-folder');
  writeFileSync(folder, 'in the way, of root too');
  const before = requests();
  const options = { version: '1.2.3', folder, log: openLog('silent'), io: { env: env(), home }, everyMs: 50 };
  const checks = startUpdateChecks(options);
  await eventually(() => requests() >= before + 2);
  rmSync(folder);
  await eventually(() => existsSync(join(folder, 'update.json')));
  checks.stop();
  const then = requests();
  await new Promise((done) => setTimeout(done, 500));
  assert.ok(requests() <= then + 1, 'what is stopped looks no more; one may have been on its way');
});

test('order of versions', () => {
  const order = ['0.9.1', '0.10.0', '1.0.0-rc.1', '1.0.0-rc.2', '1.0.0', '1.0.1', '2.0.0'];
  for (const [i, one] of order.entries())
    for (const [j, other] of order.entries()) assert.is(isNewer(one, other), i < j, `${one} ${other}`);
});

test.run();
