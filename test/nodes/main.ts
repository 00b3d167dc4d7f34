/**
 * Do the tests pass on newer versions of Node? `npm run test:long` runs them all on 22, 24 and 26, the long ones too; `npm run test:long -- 24 e2e/kill` runs on
 * one those with that in their path. The binaries are packages of the registry. The last line is `N passed, N failed`, of all versions.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { installClients } from '../clients/install-clients.ts';

const SUPPORTED = ['22', '24', '26'];
const INSTALL_MS = 300_000; // 60 MB come down

const root = resolve(import.meta.dirname, '../..');
const named = process.argv.slice(2);
const versions = named.filter((word) => SUPPORTED.includes(word));
const filters = named.filter((word) => !SUPPORTED.includes(word));

const folder = mkdtempSync(join(tmpdir(), 'svc-nodes-'));
chmodSync(folder, 0o755); // some tests start svc as another user
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

// The README names them, so its lines are tested with them.
if (filters.length === 0) installClients();

let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    running?.kill(signal);
    process.exit(1);
  });
}

const sum = { passed: 0, failed: 0 };
for (const version of versions.length > 0 ? versions : SUPPORTED) {
  const node = installed(version);
  const { passed, failed } = node === null ? { passed: 0, failed: 1 } : await testsOn(node);
  sum.passed += passed;
  sum.failed += failed;
}
console.log(`${sum.passed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed > 0 ? 1 : 0;

/** The newest of that version that the registry has; null: it could not be had. No script of its package runs. */
function installed(version: string): string | null {
  const name = `node-${process.platform}-${process.arch}`;
  const at = join(folder, version);
  const { status } = spawnSync(
    'npm',
    [
      'install',
      '--prefix',
      at,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      `${name}@${version}`,
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS, killSignal: 'SIGKILL' },
  );
  if (status === 0) return join(at, 'node_modules', name, 'bin/node');
  console.log(`Cannot test on Node ${version}: the package ${name}@${version} could not be installed`);
  return null;
}

/** A run of its own, whose last line says how it went; without one it has failed. */
function testsOn(node: string): Promise<{ passed: number; failed: number }> {
  return new Promise((resolve) => {
    const PATH = [dirname(node), process.env.PATH].join(delimiter); // npm and what else starts `node` have this one too
    const child = spawn(node, ['--import', 'tsx', 'test/support/run.ts', ...filters], {
      cwd: root,
      env: { ...process.env, PATH, SVC_TEST_LONG: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running = child;
    let last = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      last = (last + text).slice(-200);
    });
    child.once('error', () => {});
    child.once('close', () => {
      const [, passed, failed] = /^(\d+) passed, (\d+) failed\n$/m.exec(last) ?? [];
      resolve({ passed: Number(passed ?? 0), failed: Number(failed ?? 1) });
    });
  });
}
