/** The clients of others that run on Node, in the versions that package.json pins, in this folder. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const INSTALL_MS = 300_000; // a gigabyte comes down

const here = import.meta.dirname;

/** opencode comes for Linux on x64 alone, which is optional elsewhere. */
export const hasOpencode = `${process.platform}-${process.arch}` === 'linux-x64';

/** Whether they are there now. No script of theirs runs, and so nothing but the registry's packages is fetched. */
export function installClients(): boolean {
  if (isInstalled()) return true;
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
    timeout: INSTALL_MS,
    killSignal: 'SIGKILL',
  });
  if (status !== 0) console.error(`Cannot test the clients: they could not be installed within ${INSTALL_MS / 1000} s`);
  return status === 0;
}

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
