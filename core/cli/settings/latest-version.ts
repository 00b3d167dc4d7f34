/** The newest published version of this package, as the user's own npm finds it: with their registry, proxy and certificates. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { packageRoot } from '../../package-root.ts';
import { parseJson } from '../../parse-json.ts';

const NPM_MS = 20_000;
const MOST_BYTES = 65_536;

/** `problem`: why it is not known, as the end of a sentence. */
export type LatestVersion = { latest: string } | { problem: string };

type Surroundings = { env: Environment; home: string; signal?: AbortSignal };

/** Started in the home folder: a project's .npmrc must not choose the registry. Settings of svc are not passed on, since some are secrets. */
export function latestVersion({ env, home, signal }: Surroundings): Promise<LatestVersion> {
  const passed = Object.fromEntries(Object.entries(env).filter(([variable]) => !variable.startsWith('SVC_')));
  const args = [
    'view',
    packageName(),
    'version',
    '--json',
    '--no-update-notifier',
    '--loglevel=error',
    '--fetch-retries=0',
  ];
  const options = { cwd: home || '/', env: passed, timeout: NPM_MS, maxBuffer: MOST_BYTES, ...(signal && { signal }) };
  return new Promise((resolve) => {
    execFile('npm', args, options, (error, stdout) => {
      const reply = parsed(stdout);
      if (error === null && typeof reply === 'string' && VERSION.test(reply)) resolve({ latest: reply });
      else resolve({ problem: reason(error, reply) });
    });
  });
}

export const packageName = (): string =>
  (JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { name: string }).name;

/** A registry sends what it likes, and this is shown on a terminal. */
const VERSION = /^\d{1,9}\.\d{1,9}\.\d{1,9}(-[0-9A-Za-z.-]{1,64})?$/;

function reason(error: (Error & { code?: unknown; killed?: boolean }) | null, reply: unknown): string {
  const code = (reply as { error?: { code?: unknown } } | null | undefined)?.error?.code;
  if (error?.code === 'ENOENT') return "there is no 'npm' on the PATH; it comes with Node";
  if (error?.killed) return `npm had no answer within ${NPM_MS / 1000} s`;
  if (code === 'E404') return 'the registry of this npm has no such package';
  if (typeof code === 'string' && /^[A-Z_0-9]{1,32}$/.test(code))
    return `npm cannot reach its registry (${code}); is this machine offline?`;
  return error === null ? 'npm printed no version' : "'npm view' failed";
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether the second version is newer; one with a suffix precedes the same one without.
 * @example
 * isNewer('0.9.1', '0.10.0'); // => true
 * isNewer('1.0.0', '1.0.0-rc.1'); // => false
 */
export function isNewer(version: string, other: string): boolean {
  const [numbers, others] = [version, other].map((each) => each.split('-')[0]?.split('.').map(Number) ?? []);
  for (const index of [0, 1, 2]) {
    const difference = (others?.[index] ?? 0) - (numbers?.[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return version.includes('-') && (!other.includes('-') || other > version);
}
