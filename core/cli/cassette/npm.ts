/** Runs the user's own npm so that nothing of what it installs can run: no script, no git, and no .npmrc but the user's. */
import { spawn } from 'node:child_process';
import { endGroup } from '../../cassette/isolation/life.ts';
import type { Environment } from '../../config/environment.ts';
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';

export type NpmParts = {
  /** A folder that we have made and filled: npm would use a `.npmrc` and a `package.json` in it. */
  folder: string;
  env: Environment;
  signal: AbortSignal;
};

const NPM_MS = 300_000;
const LAST_OUTPUT_MS = 1_000;
const KILL_MS = 3_000; // npm has this time to end by itself
const MOST_OUTPUT = 4 * 1_048_576;

/** A path below a file, where no program can exist. */
const NOWHERE = '/dev/null/none';

/**
 * An older npm ignores the `allow` options. `allow-file` and `allow-remote` are not used: with them npm (11) cannot read the bundled
 * packages in our own tarball, nor in one of a registry. The check of the lock refuses what they would, and names it.
 */
const ARGUMENTS = [
  ...['--ignore-scripts', `--git=${NOWHERE}`, `--script-shell=${NOWHERE}`],
  ...['--allow-git=none', '--allow-directory=root'],
  ...['--no-global', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'],
];

/** For an npm that npm starts, as it does to prepare git dependencies: these outrank any `.npmrc` that it finds. */
const INHERITED = { npm_config_ignore_scripts: 'true', npm_config_git: NOWHERE, npm_config_script_shell: NOWHERE };

/** Runs npm with the user's registry and proxy, and without our settings: some are secrets. @returns its output @throws {OperatorError} */
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
      endGroup(child, 'SIGTERM');
      setTimeout(endGroup, KILL_MS, child, 'SIGKILL').unref();
    };
    const tooLong = setTimeout(end, NPM_MS);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    let output = '';
    let errorOutput = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, MOST_OUTPUT);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(0, 65_536);
    });
    const cleanUp = () => {
      clearTimeout(tooLong);
      signal.removeEventListener('abort', end);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      cleanUp();
      if (error.code !== 'ENOENT') fail(error);
      else fail(new OperatorError("Cannot install it: there is no 'npm' on the PATH; it comes with Node"));
    });
    // A process that it left behind may hold the other end of these, so that they would never close.
    child.once('exit', () =>
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, LAST_OUTPUT_MS).unref(),
    );
    child.once('close', (code) => {
      cleanUp();
      if (code === 0) settle(output);
      else if (signal.aborted) fail(new OperatorError('Cannot install it: it was interrupted'));
      else
        fail(
          new OperatorError(
            `Cannot install it: npm failed${code === null ? ', or took too long' : ''}\n${excerpt(errorOutput)}`,
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

/** npm's first lines have the reason; stacks and the path of its log come after. */
const excerpt = (errorOutput: string): string =>
  errorOutput
    .split('\n')
    .filter((line) => /^npm (?:error|ERR!)/.test(line) && !/ {4}at |complete log/.test(line))
    .slice(0, 6)
    .map((line) => `  ${plain(line)}`)
    .join('\n');
