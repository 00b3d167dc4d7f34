/** The `.env` file from which Gemini CLI takes variables that its environment has not got. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../../../config/environment.ts';
import type { StartContext } from './harness.ts';
import { settingsText } from './read-settings.ts';

type Place = Pick<StartContext, 'cwd' | 'args'> & {
  /** The home folder that it takes for the user's. */
  home: string;
  /** Whether its settings let it pass over the `.env` of projects. */
  ignoresLocal: boolean;
};

/**
 * The first that is there, from the working folder up and then at home; of each folder `.gemini/.env` counts before `.env`. Null: there is none.
 * In a folder that it does not trust Gemini CLI takes keys alone from it, which leads to its own address as well.
 * @throws {OperatorError} it cannot be read
 */
export function geminiEnvFile(place: Place): { path: string; env: Environment } | null {
  const path = candidates(place).find((candidate) => existsSync(candidate));
  if (path === undefined) return null;
  if (statSync(path).isDirectory()) return { path, env: {} }; // a virtual environment of Python: it looks no further
  return { path, env: parseEnv(settingsText(path) ?? '') as Environment };
}

function candidates({ cwd, home, args, ignoresLocal }: Place): string[] {
  const end = args.indexOf('--');
  const skips = ignoresLocal || args.slice(0, end === -1 ? undefined : end).includes('--ignore-env');
  const around = foldersUp(cwd).flatMap((folder) => [
    join(folder, '.gemini/.env'),
    ...(skips && folder !== home ? [] : [join(folder, '.env')]),
  ]);
  return [...around, join(home, '.gemini/.env'), join(home, '.env')];
}

function foldersUp(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersUp(parent)];
}
