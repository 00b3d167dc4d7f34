/** `.ci/run` in a folder without and with `../shared`: what it leaves out, what has failed, and its last line. npm is a script here. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';

type Stand = { folder: string };
const test = suite<Stand>('.ci/run');

const script = (path: string, text: string) => {
  writeFileSync(path, `#!/usr/bin/env bash\n${text}\n`);
  chmodSync(path, 0o755);
};

/** Notes its arguments and CI, and ends as the real one does when all is well but what FAILS names. */
const NPM = `echo "$* CI=\${CI:-}" >>"$CALLS"; case $* in \${FAILS:-none}) echo "$* fails"; exit 1 ;; esac
case $* in *test*) echo "3 passed, \${SVC_TEST_FAILED_BEFORE:-0} failed" ;; esac`;
const DSN = 'postgres://svc@127.0.0.1:1/svc';

test.before.each((context) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ci-'));
  mkdirSync(join(folder, 'project/.ci'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  copyFileSync(join(packageRoot(), '.ci/run'), join(folder, 'project/.ci/run'));
  script(join(folder, 'bin/npm'), NPM);
  for (const present of ['chromium', 'systemd-notify']) script(join(folder, 'bin', present), 'exit 0');
  script(join(folder, 'bin/apt-get'), 'exit 1');
  for (const tool of ['bash', 'cat', 'dirname', 'mktemp', 'rm'])
    symlinkSync(join('/usr/bin', tool), join(folder, 'bin', tool));
  context.folder = folder;
});
test.after.each(({ folder }) => rmSync(folder, { recursive: true, force: true }));

function ciRun(folder: string, env: Record<string, string> = {}) {
  const calls = join(folder, 'calls');
  const { status, stdout } = spawnSync('bash', [join(folder, 'project/.ci/run')], {
    env: { PATH: join(folder, 'bin'), HOME: folder, CALLS: calls, ...env },
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  return {
    status,
    last: lines.at(-1),
    lines,
    skips: lines.filter((line) => line.startsWith('skip: ')),
    calls: existsSync(calls) ? readFileSync(calls, 'utf8').trimEnd().split('\n') : [],
  };
}

function makeShared(folder: string): void {
  mkdirSync(join(folder, 'shared/fixtures'), { recursive: true });
  mkdirSync(join(folder, 'shared/services'));
  script(join(folder, 'shared/services/up'), `echo 'export SVC_TEST_DSN=${DSN}'`);
}

test('without ../shared the rest is run, and a line says what is left out', ({ folder }) => {
  const { status, last, skips, calls } = ciRun(folder);
  assert.is(status, 0);
  assert.is(last, '3 passed, 0 failed');
  assert.is(skips.length, 2);
  assert.match(skips[0] ?? '', /fixtures/);
  assert.match(skips[1] ?? '', /PostgreSQL/);
  assert.is(calls.at(-1), 'test --silent CI=', 'a test that skips has not failed');
});

test('without ../shared in CI it has failed, before anything is installed', ({ folder }) => {
  for (const CI of ['true', '1', 'woodpecker']) {
    const { status, last, calls } = ciRun(folder, { CI });
    assert.is(status, 1);
    assert.is(last, '0 passed, 1 failed');
    assert.equal(calls, []);
  }
});

test('a server that the caller names is used, but not in CI', ({ folder }) => {
  makeShared(folder);
  rmSync(join(folder, 'shared/services'), { recursive: true });
  const named = ciRun(folder, { SVC_TEST_DSN: DSN });
  assert.equal([named.status, named.skips], [0, []]);
  assert.is(ciRun(folder, { SVC_TEST_DSN: DSN, CI: 'true' }).last, '0 passed, 1 failed');
});

test('where nothing is absent, a test that skips has failed, whoever calls', ({ folder }) => {
  makeShared(folder);
  for (const env of [{}, { CI: 'true' }]) {
    const { status, last, skips, calls } = ciRun(folder, env);
    assert.equal([status, last, skips], [0, '3 passed, 0 failed', []]);
    assert.is(calls.at(-1), 'test --silent CI=true');
  }
});

test('a check and clients that fail are counted, and what they print is printed', ({ folder }) => {
  makeShared(folder);
  const check = ciRun(folder, { FAILS: '*check' });
  assert.is(check.last, '3 passed, 1 failed');
  assert.ok(check.lines.includes('run --silent check fails'));
  assert.is(ciRun(folder, { FAILS: '*clients*' }).last, '3 passed, 1 failed');
  assert.is(ciRun(folder, { FAILS: 'run*' }).last, '3 passed, 3 failed');
});

test('without a browser that can be installed the rest is run; in CI it has failed', ({ folder }) => {
  makeShared(folder);
  rmSync(join(folder, 'bin/chromium'));
  const without = ciRun(folder);
  assert.equal([without.status, without.last], [0, '3 passed, 0 failed']);
  assert.match(without.skips.join('\n'), /browser/);
  assert.is(ciRun(folder, { CI: 'true' }).last, '0 passed, 1 failed');
});

test.run();
