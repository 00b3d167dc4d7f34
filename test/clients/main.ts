/** Do real Claude Code, Codex, opencode, pi and Python's libraries work through the proxy? `npm run test:clients` installs them into this folder and runs
 *  what asks that; `npm run test:clients -- codex pi` those alone. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPython } from './python-folder.ts';

const INSTALL_MS = 300_000; // a gigabyte comes down
const SUITE_MS = 300_000;

const hasOpencode = `${process.platform}-${process.arch}` === 'linux-x64';

/** Each in a process of its own: this file again, with this word and its name. */
const ONE = '--one';
const suites: Record<string, () => Promise<unknown>> = {
  'claude-code': () => import('./claude-code.ts'),
  codex: () => import('./codex.ts'),
  ...(hasOpencode && { opencode: () => import('./opencode.ts') }),
  pi: () => import('./pi.ts'),
  python: () => import('./python.ts'),
};

const here = import.meta.dirname;
const [first = '', one = ''] = process.argv.slice(2);
const wanted = process.argv.slice(2);
const declare = first === ONE ? suites[one] : undefined;
if (declare) await declare();
else {
  if (!hasOpencode) console.log('skip: opencode: its package here is that for Linux on x64');
  const names = Object.keys(suites).filter((name) => wanted.length === 0 || wanted.includes(name));
  const passed = names.length > 0 && (isInstalled() || install()) ? names.map(passes) : [false];
  if (passed.includes(false)) process.exitCode = 1;
}

/** Whether each is there in the version that package.json pins. opencode comes for Linux on x64 alone, which is optional elsewhere. */
function isInstalled(): boolean {
  const { dependencies, optionalDependencies } = packageAt(here);
  const pinned: Record<string, string> = { ...dependencies, ...(hasOpencode && optionalDependencies) };
  return Object.entries(pinned).every(([name, version]) => {
    const folder = join(here, 'node_modules', name);
    return existsSync(folder) && packageAt(folder).version === version;
  });
}

function packageAt(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** No script of theirs runs, and so nothing but the registry's packages is fetched. */
function install(): boolean {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
    timeout: INSTALL_MS,
    killSignal: 'SIGKILL',
  });
  if (status !== 0) console.error(`Cannot test the clients: they could not be installed within ${INSTALL_MS / 1000} s`);
  return status === 0;
}

function passes(suite: string): boolean {
  const python = suite === 'python' ? installPython() : 'there';
  if (python === 'absent') console.log('skip: python: there is no python3 with venv and pip');
  if (python === 'failed') console.error('Cannot test the Python libraries: they could not be installed');
  if (python !== 'there') return python === 'absent';
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', import.meta.filename, ONE, suite], {
    cwd: join(here, '../..'),
    stdio: 'inherit',
    timeout: SUITE_MS,
    killSignal: 'SIGKILL',
  });
  if (status === null) console.error(`Cannot test the clients: ${suite} did not end within ${SUITE_MS / 1000} s`);
  return status === 0;
}
