/** The files in which opencode finds its settings, in the order in which it lays them over one another. (opencode.ai/docs/config, 'Locations') */
import { join, resolve } from 'node:path';
import { foldersInRepository } from './folders-up.ts';
import type { StartContext } from './harness.ts';

type Place = Pick<StartContext, 'env' | 'home' | 'cwd'>;

/** Of two in a folder it reads the second over the first. */
const NAMES = ['opencode.json', 'opencode.jsonc'];

/** Files that its variable OPENCODE_CONFIG_CONTENT outranks, the strongest last. They need not exist. */
export function opencodeFiles({ env, home, cwd }: Place): string[] {
  const own = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');
  const folders = isOn(env.OPENCODE_DISABLE_PROJECT_CONFIG) ? [] : foldersInRepository(cwd);
  return [
    join(own, 'config.json'), // of its first versions
    ...filesIn(own),
    ...(env.OPENCODE_CONFIG ? [resolve(cwd, env.OPENCODE_CONFIG)] : []),
    ...folders.toReversed().flatMap(filesIn),
    ...[...new Set([...folders, home])].flatMap((folder) => filesIn(join(folder, '.opencode'))),
    ...(env.OPENCODE_CONFIG_DIR ? filesIn(resolve(cwd, env.OPENCODE_CONFIG_DIR)) : []),
  ];
}

/** Files of this machine's administrator, which outrank that variable. */
export function managedOpencodeFiles(env: Place['env']): string[] {
  if (env.OPENCODE_TEST_MANAGED_CONFIG_DIR) return filesIn(env.OPENCODE_TEST_MANAGED_CONFIG_DIR); // so opencode calls it
  if (process.platform === 'darwin') return filesIn('/Library/Application Support/opencode');
  if (process.platform === 'win32') return filesIn(join(env.ProgramData || 'C:\\ProgramData', 'opencode'));
  return filesIn('/etc/opencode');
}

const filesIn = (folder: string) => NAMES.map((name) => join(folder, name));

const isOn = (value: string | undefined) => ['1', 'true'].includes((value ?? '').toLowerCase());
