/** The settings of Claude Code that set variables, which outrank those of its process. (code.claude.com/docs/en/settings, 'Settings precedence') */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Environment } from '../../../config/environment.ts';
import { isObject } from '../../../parse-json.ts';
import type { StartContext } from './harness.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { optionValue } from './option-value.ts';
import { jsonSettings, memberOf } from './read-settings.ts';

/** `where`: as the end of a variable's name, ' in /home/ada/.claude/settings.json'. */
export type ClaudeSettings = { where: string; env: Environment };

/**
 * Its files that the argument `--settings` outranks, the strongest last. They need not exist.
 * @throws {OperatorError} one of them cannot be read
 */
export function claudeFiles({ env, cwd, home }: StartContext): ClaudeSettings[] {
  const own = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const files = [
    env.CLAUDE_CONFIG_DIR ? join(own, '.claude.json') : join(home, '.claude.json'),
    join(own, 'settings.json'),
    join(cwd, '.claude/settings.json'),
    join(cwd, '.claude/settings.local.json'),
  ];
  return files.map(settingsIn);
}

/**
 * Files of this machine's administrator, which outrank that argument. What an organization sends it from a server is none of them.
 * @throws {OperatorError} one of them cannot be read
 */
export function managedClaudeFiles({ managedFolder = SYSTEM_FOLDERS[process.platform] ?? '/etc/claude-code' }) {
  const more = join(managedFolder, 'managed-settings.d');
  const names = namesIn(more).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  return [join(managedFolder, 'managed-settings.json'), ...names.sort().map((name) => join(more, name))].map(
    settingsIn,
  );
}

const SYSTEM_FOLDERS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: '/Library/Application Support/ClaudeCode',
  win32: 'C:\\Program Files\\ClaudeCode',
};

/**
 * Those of the person's own argument `--settings`: JSON, or a file. Null: there is none.
 * @throws {OperatorError} the file cannot be read
 */
export function claudeArgument({ args, cwd }: StartContext): ClaudeSettings | null {
  const value = optionValue(args, ['--settings']);
  if (value === null) return null;
  const isJson = value.trimStart().startsWith('{');
  return isJson ? { where: ' in its --settings', env: variablesOf(parsed(value)) } : settingsIn(resolve(cwd, value));
}

const settingsIn = (file: string): ClaudeSettings => ({
  where: ` in ${file}`,
  env: variablesOf(jsonSettings(file)),
});

function variablesOf(settings: unknown): Environment {
  const env = memberOf(settings, 'env');
  return isObject(env) ? (env as Environment) : {};
}

/** {} for what is no JSON, with which Claude Code does not start. */
function parsed(text: string): unknown {
  try {
    return parseJsonWithComments(text);
  } catch {
    return {};
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
