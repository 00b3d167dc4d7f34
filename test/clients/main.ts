/** Do real Claude Code, Codex, Gemini CLI, opencode, pi, Vercel's AI SDK and Python's libraries work through the proxy? `npm run test:clients` installs them into this folder and runs
 *  what asks that; `npm run test:clients -- codex pi` those alone. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { hasOpencode, installClients } from './install-clients.ts';
import { installPython } from './python-folder.ts';

const SUITE_MS = 300_000;

/** Each in a process of its own: this file again, with this word and its name. */
const ONE = '--one';
const suites: Record<string, () => Promise<unknown>> = {
  'ai-sdk': () => import('./ai-sdk.ts'),
  'claude-code': () => import('./claude-code.ts'),
  codex: () => import('./codex.ts'),
  gemini: () => import('./gemini.ts'),
  ...(hasOpencode && { opencode: () => import('./opencode.ts') }),
  pi: () => import('./pi.ts'),
  start: () => import('./start.ts'),
  python: () => import('./python.ts'),
  sync: () => import('./sync.ts'),
};

const here = import.meta.dirname;
const [first = '', one = ''] = process.argv.slice(2);
const wanted = process.argv.slice(2);
const declare = first === ONE ? suites[one] : undefined;
if (declare) await declare();
else {
  if (!hasOpencode) console.log('skip: opencode: its package here is that for Linux on x64');
  const names = Object.keys(suites).filter((name) => wanted.length === 0 || wanted.includes(name));
  const passed = names.length > 0 && installClients() ? names.map(passes) : [false];
  if (passed.includes(false)) process.exitCode = 1;
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
