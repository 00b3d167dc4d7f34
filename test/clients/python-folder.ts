/** Where are the Python libraries? In an environment of their own, made where python3, venv and pip are there, of the versions that are pinned. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const PINNED = join(here, 'python/requirements.txt');
const INSTALL_MS = 300_000;

export const PYTHON = join(here, '.venv');

/** `absent`: this machine has no Python to test with. */
export function installPython(): 'there' | 'absent' | 'failed' {
  const marker = join(PYTHON, 'requirements.txt');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === readFileSync(PINNED, 'utf8')) return 'there';
  const run = (program: string, args: readonly string[]) =>
    spawnSync(program, args, {
      cwd: here,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_MS,
      killSignal: 'SIGKILL',
    });
  if (spawnSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' }).status !== 0) return 'absent';
  if (run('python3', ['-m', 'venv', '--clear', PYTHON]).status !== 0) return 'failed';
  // All that is needed is pinned, so nothing is resolved.
  const args = [
    'install',
    '--no-deps',
    '--only-binary',
    ':all:',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    PINNED,
  ];
  if (run(join(PYTHON, 'bin/pip'), args).status !== 0) return 'failed';
  copyFileSync(PINNED, marker);
  return 'there';
}
