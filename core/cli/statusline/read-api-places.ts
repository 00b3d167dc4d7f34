/** Where the read API may be found, without loading the configuration: that takes longer than a status line may. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { isObject, parseJson } from '../../parse-json.ts';
import { isOwnHost } from '../own-host.ts';

/** `token` '': none. */
export type ReadApiPlace = { address: string; token: string };

type Folders = { env: Environment; folders: readonly string[] };

/** By number: looking up a name takes longer than the response. */
const DEFAULT = 'http://127.0.0.1:8081';

/** The one that is configured, else those of the services that run in these folders, and then the usual one. */
export async function readApiPlaces({ env, folders }: Folders): Promise<ReadApiPlace[]> {
  const file = await firstFile(folders);
  const token = env.SVC_API_TOKEN || file.token;
  if (env.SVC_CLIENT_API_TARGET) return [{ address: env.SVC_CLIENT_API_TARGET, token }];
  // A file that came with a project must not name the host to which the token of the environment goes.
  if (file.target !== '') return [{ address: file.target, token: isOwnHost(file.target) ? token : file.token }];
  const published = folders.flatMap((folder) => publishedAddress(join(folder, '.svc', 'service.json')) ?? []);
  const running = published.filter(isOwnHost); // nor may a file that only looks like a service's
  return [...new Set([...running, DEFAULT])].map((address) => ({ address, token }));
}

/** As the service publishes it. (core/cli/running-service.ts) */
function publishedAddress(path: string): string | null {
  const text = textOf(path);
  const published = text === null ? null : parseJson(text);
  return isObject(published) && typeof published.api === 'string' ? published.api : null;
}

async function firstFile(folders: readonly string[]): Promise<{ target: string; token: string }> {
  for (const folder of folders) {
    const text = textOf(join(folder, '.svc', 'config.toml'));
    if (text === null) continue;
    const { parse } = await import('smol-toml');
    try {
      const { client, api } = parse(text.replace(/^\uFEFF/, ''));
      return { target: member(client, 'api_target'), token: member(api, 'token') };
    } catch {
      break; // what is wrong with it, other commands say
    }
  }
  return { target: '', token: '' };
}

function member(section: unknown, name: string): string {
  const value = isObject(section) ? section[name] : undefined;
  return typeof value === 'string' ? value : '';
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
