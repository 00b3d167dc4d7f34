/** `svc demo`: the whole service with data to look at, in a folder that is removed when you stop it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseListen } from '../config/listen.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { OperatorError } from '../errors.ts';
import { serveApp } from '../http/listen.ts';
import { forEachProvider } from '../provider/provider-ids.ts';
import { scriptedProvider } from './demo/scripted-provider.ts';
import { showDemo } from './demo/show.ts';
import type { Io } from './io.ts';
import { serve } from './serve/serve.ts';
import type { Addresses } from './serve/serving.ts';
import { shownAddress } from './shown-address.ts';
import { uiAddress } from './ui-address.ts';

/**
 * Serves with the demo's sessions in it, holds a conversation through the proxy, prints where to look, and stays until SIGTERM, SIGINT or SIGHUP.
 * @throws {OperatorError} as `serve` does
 */
export async function runDemo(loaded: LoadedConfig, io: Io, version: string): Promise<void> {
  const provider = await serveApp({ fetch: scriptedProvider, hosts: [LOOPBACK], port: 0, what: 'scripted provider' });
  const folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
  try {
    const config = await demoConfig(loaded, provider.addresses[0] ?? '');
    const running = ({ proxy: [proxy = ''], api: [api = ''] }: Addresses) =>
      showDemo({
        version,
        proxy,
        api,
        ui: uiAddress(shownAddress(api), config.api, io.isTerminal === true),
        token: config.api.token,
        out: io.out,
      });
    await serve({ ...loaded, config, folder: join(folder, '.svc') }, io, { role: 'all', version, running });
  } finally {
    await provider.close(0);
    await rm(folder, { recursive: true, force: true });
  }
}

const LOOPBACK = '127.0.0.1';

/** The given configuration, without what would leave this machine or write into somebody's own database. */
async function demoConfig({ config, source }: LoadedConfig, provider: string): Promise<Config> {
  const listen = async (name: 'proxy' | 'api' | 'ingest') => {
    const configured = config[name].listen;
    return source[`${name}.listen`] !== 'default' || (await isFree(configured)) ? configured : ':0';
  };
  return {
    ...config,
    storage: { ...config.storage, postgres_dsn: '' },
    proxy: {
      ...config.proxy,
      provider: 'openai',
      upstream: '',
      upstreams: forEachProvider(() => provider),
      listen: await listen('proxy'),
    },
    capture: { ...config.capture, mode: 'full' },
    api: { ...config.api, listen: await listen('api') },
    ingest: { ...config.ingest, listen: await listen('ingest') },
    log: { level: source['log.level'] === 'default' ? 'warn' : config.log.level }, // so that the log does not hide the demo's output
  };
}

async function isFree(listen: string): Promise<boolean> {
  try {
    const probe = await serveApp({ fetch: () => new Response(), ...parseListen(listen), what: 'demo' });
    await probe.close(0);
    return true;
  } catch (error) {
    if (error instanceof OperatorError) return false;
    throw error;
  }
}
