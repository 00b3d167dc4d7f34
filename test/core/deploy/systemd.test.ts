/** The units as systemd itself reads them, and what in them has to fit svc. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFolder, removeFolder } from '../../support/serve.ts';

const units = join(import.meta.dirname, '../../../core/deploy/systemd');
const NAMES = ['svc.service', 'svc@.service'];

/** The assignments of a unit, in order. */
const settings = (name: string): [string, string][] =>
  readFileSync(join(units, name), 'utf8')
    .split('\n')
    .filter((line) => /^[A-Z]\w+=/.test(line))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
const setting = (name: string, key: string) => new Map(settings(name)).get(key);

const test = suite('the systemd units');

for (const name of NAMES) {
  test(`${name}: systemd is notified by a child, and waits for as long as svc takes to end`, () => {
    assert.is(setting(name, 'Type'), 'notify');
    assert.is(setting(name, 'NotifyAccess'), 'all');
    assert.is(setting(name, 'Restart'), 'on-failure');
    assert.is(setting(name, 'WatchdogSec'), '60s');
    assert.ok(Number.parseInt(setting(name, 'TimeoutStopSec') ?? '', 10) > 40);
    assert.is(setting(name, 'ExecStart'), `/usr/local/bin/svc serve${name.includes('@') ? ' %i' : ''}`);
  });

  test(`${name}: nothing that V8, the network or a cassette's jail cannot bear`, () => {
    const keys = settings(name).map(([key]) => key);
    for (const unbearable of ['MemoryDenyWriteExecute', 'PrivateNetwork', 'RestrictNamespaces', 'PrivateUsers'])
      assert.not.ok(keys.includes(unbearable), unbearable);
    assert.match(setting(name, 'RestrictAddressFamilies') ?? '', /AF_UNIX.*AF_INET.*AF_INET6/);
    assert.is(setting(name, 'ProtectSystem'), 'strict');
    assert.is(setting(name, 'NoNewPrivileges'), 'yes');
  });
}

test('the two differ in the role alone', () => {
  const bare = (name: string) =>
    settings(name)
      .filter(([key]) => key !== 'Description' && key !== 'EnvironmentFile')
      .map(([key, value]) => `${key}=${value.replace(/[ /]%i/g, '')}`);
  assert.equal(bare('svc@.service'), bare('svc.service'));
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (hasSystemd)
  test('systemd finds nothing wrong with them', async () => {
    const folder = await emptyFolder();
    try {
      mkdirSync(join(folder, 'bin'));
      const program = join(folder, 'bin/svc'); // it complains of a program that is not there
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
      for (const name of NAMES) {
        const text = readFileSync(join(units, name), 'utf8').replaceAll('/usr/local/bin/svc', program);
        writeFileSync(join(folder, name), text);
      }
      for (const name of ['svc.service', 'svc@proxy.service']) {
        const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, name)], {
          encoding: 'utf8',
        });
        const about = stderr.split('\n').filter((line) => line.includes('svc'));
        assert.equal([status, about], [0, []], stderr);
      }
    } finally {
      await removeFolder(folder);
    }
  });
else console.log('skip: the systemd units: there is no systemd-analyze');

if (spawnSync('systemd-sysusers', ['--version']).status === 0)
  test('the user that they run as is made by systemd-sysusers', async () => {
    const root = await emptyFolder();
    try {
      mkdirSync(join(root, 'etc'));
      execFileSync('systemd-sysusers', [`--root=${root}`, '-'], { input: readFileSync(join(units, 'svc.sysusers')) });
      assert.match(readFileSync(join(root, 'etc/passwd'), 'utf8'), /^svc:.*:\/var\/lib\/svc:\S*nologin$/m);
    } finally {
      await removeFolder(root);
    }
  });
else console.log('skip: the systemd units: there is no systemd-sysusers');

test.run();
