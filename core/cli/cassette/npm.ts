/** The user's own npm, run so that nothing of what it installs can run: no script, no git, and no .npmrc but the user's. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';

export type NpmParts = {
  /** A folder that we have made and written: a `.npmrc` and a `package.json` in it would count. */
  folder: string;
  env: Environment;
  signal: AbortSignal;
};

const NPM_MS = 300_000;
const LAST_OUTPUT_MS = 1_000;
const KILL_MS = 3_000; // for npm to end by itself
const MOST_OUTPUT = 4 * 1_048_576;

/** A path under a file: nobody can put a program there. */
const NOWHERE = '/dev/null/none';

/**
 * An npm that does not know the `allow` ones yet passes over them. `allow-file` and `allow-remote` are not used: with them npm (11)
 * cannot look into our own tarball, nor into one of a registry, for what is bundled there. The lock refuses what they would, and by name.
 */
const ARGUMENTS = [
  ...['--ignore-scripts', `--git=${NOWHERE}`, `--script-shell=${NOWHERE}`],
  ...['--allow-git=none', '--allow-directory=root'],
  ...['--no-global', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'],
];

/** An npm that npm starts (it prepares git dependencies so) takes these before any `.npmrc` that it finds. */
const INHERITED = { npm_config_ignore_scripts: 'true', npm_config_git: NOWHERE, npm_config_script_shell: NOWHERE };

/** With the user's registry and proxy, and none of our settings: some are secrets. @returns its output @throws {OperatorError} */
export function runNpm(args: readonly string[], { folder, env, signal }: NpmParts): Promise<string> {
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SVC_')));
  const [command = '', ...rest] = args;
  return new Promise((settle, fail) => {
    const child = spawn('npm', [command, ...ARGUMENTS, '--prefix', folder, ...rest], {
      cwd: folder,
      env: { ...passed, ...INHERITED },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const end = () => {
      killGroup(child, 'SIGTERM');
      setTimeout(killGroup, KILL_MS, child, 'SIGKILL').unref();
    };
    const tooLong = setTimeout(end, NPM_MS);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    let output = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, MOST_OUTPUT);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, 65_536);
    });
    const over = () => {
      clearTimeout(tooLong);
      signal.removeEventListener('abort', end);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      over();
      if (error.code !== 'ENOENT') fail(error);
      else fail(new OperatorError("Cannot install it: there is no 'npm' on the PATH; it comes with Node"));
    });
    // Whatever it may have left behind holds the other end of these, and they would never close.
    child.once('exit', () =>
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, LAST_OUTPUT_MS).unref(),
    );
    child.once('close', (code) => {
      over();
      if (code === 0) settle(output);
      else if (signal.aborted) fail(new OperatorError('Cannot install it: it was interrupted'));
      else
        fail(
          new OperatorError(
            `Cannot install it: npm failed${code === null ? ', or took too long' : ''}\n${excerpt(complaint)}`,
          ),
        );
    });
  });
}

/** Registries that the user's npm configuration names: the default one, and those of scopes. Each ends with `/`. */
export async function registriesOf(parts: NpmParts): Promise<string[]> {
  const config = JSON.parse(await runNpm(['config', 'list', '--json'], parts)) as Record<string, unknown>;
  return Object.entries(config).flatMap(([key, value]) =>
    (key === 'registry' || /^@[^:]+:registry$/.test(key)) && typeof value === 'string' && URL.canParse(value)
      ? [value.endsWith('/') ? value : `${value}/`]
      : [],
  );
}

/** npm and what it has started: it leads a group of its own. */
function killGroup({ pid, exitCode, signalCode }: ChildProcess, how: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, how);
  } catch {} // it has just ended
}

/** What npm says first is why; stacks and where its log is come after. */
const excerpt = (complaint: string): string =>
  complaint
    .split('\n')
    .filter((line) => /^npm (?:error|ERR!)/.test(line) && !/ {4}at |complete log/.test(line))
    .slice(0, 6)
    .map((line) => `  ${plain(line)}`)
    .join('\n');
