/** Does the register count living processes alone, close only when it is empty, and are logs and temporary files bounded? */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addresses } from '../../../../core/cli/read-api.ts';
import { publishService } from '../../../../core/cli/running-service.ts';
import { isCommand } from '../../../../core/cli/start/find-command.ts';
import { logIn, rotateLog } from '../../../../core/cli/start/log-file.ts';
import { closeRegister, openRegister, register, registered } from '../../../../core/cli/start/register.ts';
import { openRunFolder } from '../../../../core/cli/start/run-folder.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { lockFolder } from '../../../../core/db/client/folder-lock.ts';
import { markOf } from '../../../../core/db/client/process-mark.ts';

const test = suite('what svc start leaves in .svc');
let home = '';
let folder = '';
test.before.each(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-register-'));
  folder = join(home, '.svc');
  mkdirSync(folder);
});
test.after.each(() => rmSync(home, { recursive: true, force: true }));

const gone = JSON.stringify({ ...markOf(process.pid), started: 'earlier' }); // as of a process whose pid was used again

test('nobody registers with a register that is closed, and none is closed over a harness', () => {
  assert.is(register(folder), null);
  openRegister(folder);
  const leave = register(folder);
  assert.is(registered(folder), 1);
  assert.is(closeRegister(folder), false);
  leave?.();
  assert.is(registered(folder), 0);
  assert.is(closeRegister(folder), true);
  assert.is(register(folder), null);
  assert.equal(readdirSync(folder), []);
});

test('a harness that was killed does not count, and its files go', () => {
  openRegister(folder);
  writeFileSync(join(folder, 'harnesses/dead'), gone);
  writeFileSync(join(folder, 'harnesses/cut'), '{"pid":');
  assert.is(registered(folder), 0);
  assert.is(closeRegister(folder), true);
  mkdirSync(join(folder, 'runs/dead'), { recursive: true });
  writeFileSync(join(folder, 'runs/dead/process.json'), gone);
  const first = openRunFolder(folder, 'first');
  const path = first.writeFile('a.js', '1');
  assert.is(statSync(path).mode & 0o777, 0o600);
  openRunFolder(folder, 'second');
  assert.equal(readdirSync(join(folder, 'runs')), ['first']); // it lives
  first.remove();
  assert.not.ok(existsSync(path));
});

test("what the service has for its cassettes in 'run' is in no folder of a harness, and stays", () => {
  const ofService = join(folder, 'run');
  mkdirSync(join(ofService, 'root-1'), { recursive: true });
  const run = openRunFolder(folder, 'first');
  const path = run.writeFile('a.js', '1');
  assert.equal(readdirSync(ofService), ['root-1']);
  rmSync(ofService, { recursive: true }); // as a service does when it starts
  assert.ok(existsSync(path));
  run.remove();
});

test('a log that is large enough becomes an older one, of which three are kept', () => {
  for (const line of ['1', '2', '3', '4', '5']) {
    writeFileSync(logIn(folder), line.repeat(10), { mode: 0o600 });
    rotateLog(folder, 10);
    assert.is(readFileSync(logIn(folder), 'utf8'), '');
  }
  writeFileSync(logIn(folder), 'short');
  rotateLog(folder, 10);
  const kept = ['', '.1', '.2', '.3', '.4'].map((end) => logIn(folder) + end).filter((path) => existsSync(path));
  assert.equal(
    kept.map((path) => readFileSync(path, 'utf8')[0]),
    ['s', '5', '4', '3'],
  );
});

test('client commands find the service of the home folder unless one has run in the folder in effect', async () => {
  const unlock = await lockFolder(folder);
  const { withdraw } = publishService(
    folder,
    { proxy: ['http://127.0.0.1:1'], api: ['http://127.0.0.1:2'], ingest: [] },
    { data: join(folder, 'data'), shared: true },
  );
  const cwd = join(home, 'project');
  mkdirSync(cwd);
  const load = () => addresses(loadConfig({ flags: {}, env: {}, cwd, home }));
  assert.equal([load().proxy, load().api], ['http://localhost:1', 'http://localhost:2']);
  mkdirSync(join(cwd, '.svc')); // for its settings
  assert.is(load().api, 'http://localhost:2');
  mkdirSync(join(cwd, '.svc', 'journal'));
  assert.is(load().api, 'http://localhost:8081');
  rmSync(join(cwd, '.svc'), { recursive: true });
  withdraw();
  await unlock();
  assert.is(load().api, 'http://localhost:8081');
});

test('a command is looked for on the PATH, or where its path leads', () => {
  const env = { PATH: `${home}:/usr/bin:/bin` };
  assert.ok(isCommand('sh', env, home));
  assert.ok(isCommand('/bin/sh', {}, home));
  assert.not.ok(isCommand('no-such-harness', env, home));
  writeFileSync(join(home, 'text'), '');
  assert.not.ok(isCommand('text', env, home));
  assert.not.ok(isCommand('./.svc', env, home));
});

test.run();
