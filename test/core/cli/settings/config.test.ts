import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keys } from '../../../../core/config/keys.ts';
import { svcIn } from '../../../support/run-program.ts';

const test = suite('svc config');
let base = '';
let cwd = '';
let home = '';
test.before.each(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-config-'));
  cwd = join(base, 'project');
  home = join(base, 'home');
  mkdirSync(cwd);
  mkdirSync(home);
});
test.after.each(() => rmSync(base, { recursive: true, force: true }));

const file = (folder = cwd) => join(folder, '.svc', 'config.toml');
const config = (...args: string[]) => svcIn({ cwd, home }, 'config', ...args);
function write(content: string, folder = cwd) {
  mkdirSync(join(folder, '.svc'), { recursive: true });
  writeFileSync(file(folder), content, { mode: 0o600 });
}
const read = (folder = cwd) => readFileSync(file(folder), 'utf8');

test('list shows every key with its value and what sets it, and no secret', async () => {
  write('[proxy]\nlisten = ":9"\n[storage]\npostgres_dsn = "postgres://u:planted-word@h/d"\n');
  const env = { SVC_LOG_LEVEL: 'warn', SVC_API_TOKEN: 'planted-token' };
  const { status, out, err } = await svcIn({ cwd, home, env }, 'config', 'list');
  assert.equal([status, err], [0, '']);
  assert.equal(
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
    keys.map(({ path }) => path),
  );
  assert.match(out, new RegExp(`^proxy\\.listen +":9" +${file()}$`, 'm'));
  assert.match(out, /^log\.level +"warn" +SVC_LOG_LEVEL$/m);
  assert.match(out, /^storage\.postgres_dsn +\[redacted\] /m);
  assert.match(out, /^api\.listen +":8081" +default$/m);
  assert.match(out, /^update\.disabled +not set +default$/m);
  assert.not.match(out, 'planted');

  const changed = await svcIn({ cwd, home, env }, 'config', 'list', '--changed', '--json');
  const document = JSON.parse(changed.out) as {
    file: string;
    settings: { key: string; source: string; from: string }[];
  };
  assert.is(document.file, file());
  assert.equal(
    document.settings.map(({ key, source, from }) => [key, source, from]),
    [
      ['storage.postgres_dsn', 'file', file()],
      ['proxy.listen', 'file', file()],
      ['api.token', 'environment', 'SVC_API_TOKEN'],
      ['log.level', 'environment', 'SVC_LOG_LEVEL'],
    ],
  );
  assert.not.match(changed.out, 'planted');
  assert.is((await config('list', 'update')).out, 'update.disabled  not set  default\n');
  assert.is((await config('list', 'nowhere')).status, 2);
});

test('get prints the value alone; a secret only when that is wanted', async () => {
  write('allowed_hosts = ["a.example", "b.example"]\n[api]\ntoken = "planted"\n');
  assert.equal(await config('get', 'proxy.listen'), { status: 0, out: ':8080\n', err: '' });
  assert.is((await config('get', 'allowed_hosts')).out, 'a.example\nb.example\n');
  assert.is((await config('get', 'api.token')).out, '[redacted]\n');
  assert.is((await config('get', 'api.token', '--show-secret')).out, 'planted\n');
  const { value, source, secret } = JSON.parse((await config('get', 'api.token', '--json')).out);
  assert.equal([value, source, secret], ['[redacted]', 'file', true]);
});

test('an unknown key or a section: status 2, with what was likely meant', async () => {
  for (const args of [
    ['get', 'proxy.lisen'],
    ['set', 'proxy.lisen', ':1'],
    ['unset', 'proxy.lisen'],
  ]) {
    const { status, err } = await config(...args);
    assert.is(status, 2);
    assert.match(err, "did you mean 'proxy.listen'?");
  }
  assert.match((await config('get', 'proxy')).err, "it is a section; 'svc config list proxy' shows its settings");
  assert.not.ok(existsSync(join(cwd, '.svc')));
});

test('set makes the file for this user alone, beside a .gitignore; the service reads it', async () => {
  const { status, out, err } = await config('set', 'proxy.listen', ':9');
  assert.equal([status, out], [0, `Set proxy.listen = ":9" in ${file()}\n`]);
  assert.match(err, 'A service that runs takes it at its next start');
  assert.is(read(), 'version = 0\n\n[proxy]\nlisten = ":9"\n');
  assert.is(statSync(file()).mode & 0o777, 0o600);
  assert.is(readFileSync(join(cwd, '.svc', '.gitignore'), 'utf8'), '*\n');
  assert.is((await config('get', 'proxy.listen')).out, ':9\n');
  assert.is((await config('set', 'allowed_hosts', 'a.example', 'b.example,c.example')).status, 0);
  assert.is((await config('get', 'allowed_hosts')).out, 'a.example\nb.example\nc.example\n');
  assert.is((await config('set', 'api.web_ui', 'no')).status, 0);
  assert.is((await config('get', 'api.web_ui')).out, 'false\n');
});

test('a value that the key cannot have is refused, and the file is as it was', async () => {
  const before = '# mine\n[capture]\nmode = "off" # for now\n';
  write(before);
  const cases: [string[], RegExp][] = [
    [['capture.mode', 'fulll'], /^Cannot set capture\.mode: it must be one of .*; did you mean 'full'\?\n$/],
    [['journal.max_bytes', '5'], /an integer from 1048576 on/],
    [['proxy.listen', ':8081'], /must differ/],
    [['publisher.stream.topic', 't'], /brokers: must be set/],
    [['proxy.project', 'a', 'b'], /takes one value, not 2/],
    [['proxy.project'], /its value is missing/],
    [['api.token', 'planted word'], /must be printable ASCII/],
  ];
  for (const [args, message] of cases) {
    const { status, out, err } = await config('set', ...args);
    assert.equal([status, out], [2, '']);
    assert.match(err, message);
    assert.not.match(err, 'planted');
    assert.is(read(), before);
  }
  assert.is((await config('set', 'proxy.listen', ':8081', '--force')).status, 0);
  assert.match(read(), before);
});

test('a broken file is mended setting by setting; one that is no TOML is left alone, and not quoted', async () => {
  write('[capture]\nmode = "fulll"\n[proxy]\nlisten = "x"\n');
  assert.is((await config('get', 'capture.mode')).status, 2);
  assert.is((await config('set', 'capture.mode', 'full')).status, 0);
  assert.is((await config('unset', 'proxy.listen')).status, 0);
  assert.is((await config('get', 'capture.mode')).out, 'full\n');
  const broken = '[api]\ntoken = "planted\n';
  write(broken);
  const { status, err } = await config('set', 'capture.mode', 'off');
  assert.is(status, 1);
  assert.match(err, /line 2, column/);
  assert.not.match(err, 'planted');
  assert.is(read(), broken);
});

test('a setting that tables make is not said to be absent: they are changed by hand', async () => {
  const text = '[budget.projects.atlas]\ndaily_usd = 7.5\n';
  write(text);
  const { status, out, err } = await config('unset', 'budget.projects');
  assert.equal(
    [status, out, err],
    [1, '', `Cannot change budget.projects in ${file()} without losing some of it: change it by hand there\n`],
  );
  assert.is(read(), text);
});

test('the mode of the file and a link to it stay', async () => {
  const elsewhere = join(base, 'dotfiles.toml');
  writeFileSync(elsewhere, '# kept\n');
  chmodSync(elsewhere, 0o640);
  mkdirSync(join(cwd, '.svc'));
  symlinkSync(elsewhere, file());
  assert.is((await config('set', 'log.level', 'warn')).status, 0);
  assert.is(readFileSync(elsewhere, 'utf8'), '# kept\n\n[log]\nlevel = "warn"\n');
  assert.is(statSync(elsewhere).mode & 0o777, 0o640);
});

test('a file that others can read is for its user alone once a secret is written into it, and a line says so', async () => {
  const mode = () => (statSync(file()).mode & 0o777).toString(8);
  const line = `Others could read ${file()}; now that a secret is in it, only you can\n`;
  write('');
  for (const [open, narrowed] of [
    [0o644, '600'],
    [0o640, '600'],
    [0o755, '700'],
  ] as const) {
    chmodSync(file(), open);
    assert.not.match((await config('set', 'log.level', 'warn')).err, 'Others could read', 'no secret');
    assert.is(mode(), open.toString(8));
    const { status, err } = await config('set', 'api.token', 'planted-token-of-a-team');
    assert.equal([status, err.includes(line)], [0, true], err);
    assert.is(mode(), narrowed);
  }
  assert.not.match((await config('set', 'api.token', 'planted-token-of-another')).err, 'Others could read');
  chmodSync(file(), 0o644);
  assert.not.match((await config('unset', 'api.token')).err, 'Others could read');
  assert.is(mode(), '644');
});

test('the file in effect is written, that of the home folder too; what outranks it is named', async () => {
  write('# home\n', home);
  assert.is((await config('path')).out, `${file(home)}\n`);
  assert.is((await config('set', 'log.level', 'warn')).status, 0);
  assert.not.ok(existsSync(file()));
  assert.match(read(home), 'level = "warn"');
  write('# here\n');
  assert.is((await config('path')).out, `${file()}\n`);
  const { err } = await svcIn(
    { cwd, home, env: { SVC_LOG_LEVEL: 'info' } },
    'config',
    'set',
    '--home',
    'log.level',
    'error',
  );
  assert.match(err, `Here ${file()} is in effect, and ${file(home)} is not read`);
  assert.match(err, 'SVC_LOG_LEVEL is set in this environment and outranks the file');
  assert.match(read(home), 'level = "error"');
  assert.is(read(), '# here\n');
});

test('path of what is not there yet, and of a file that is broken', async () => {
  const { status, out, err } = await config('path');
  assert.equal([status, out], [0, `${file()}\n`]);
  assert.match(err, 'There is no such file yet');
  write('no TOML');
  assert.equal(JSON.parse((await config('path', '--json')).out), {
    file: file(),
    written: file(),
    exists: true,
    folder: join(cwd, '.svc'),
  });
});

test('unset removes the line; what is not set is no failure', async () => {
  write('# a\n[proxy]\nlisten = ":9" # b\n# c\n');
  assert.equal(JSON.parse((await config('unset', 'proxy.listen', '--json')).out), {
    key: 'proxy.listen',
    removed: true,
    file: file(),
  });
  assert.is(read(), '# a\n[proxy]\n# c\n');
  const { status, out, err } = await config('unset', 'proxy.listen');
  assert.equal([status, out], [0, '']);
  assert.match(err, 'nothing to remove');
});

test('a list with comments in it is not rewritten', async () => {
  const before = 'allowed_hosts = [\n  "a.example", # ours\n]\n';
  write(before);
  const { status, err } = await config('set', 'allowed_hosts', 'b.example');
  assert.is(status, 1);
  assert.match(err, 'change it by hand');
  assert.is(read(), before);
});

test('as a process: a secret comes from a pipe, and is not shown', async () => {
  const root = resolve(import.meta.dirname, '../../../..');
  const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
  const args = ['--import', tsx, join(root, 'core/cli/main.ts'), 'config', 'set', 'api.token'];
  const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' } });
  child.stdin.end('planted-token\n');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.is(child.exitCode, 0, err);
  assert.is(out, `Set api.token = [redacted] in ${file()}\n`);
  assert.not.match(err, 'planted');
  assert.is(read(), 'version = 0\n\n[api]\ntoken = "planted-token"\n');
});

test.run();
