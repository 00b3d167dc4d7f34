/** `svc demo`: the whole service with data to look at, in a folder that is removed when you stop it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import { serveApp } from '../http/listen.ts';
import { demoService } from './demo/demo-service.ts';
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
    const service = await demoService(loaded, io, { folder, provider: provider.addresses[0] ?? '' });
    const { api: config } = service.loaded.config;
    const running = ({ proxy: [proxy = ''], api: [api = ''] }: Addresses) =>
      showDemo({
        version,
        proxy,
        api,
        ui: uiAddress(shownAddress(api), config, io.isTerminal === true),
        token: config.token,
        out: io.out,
      });
    await serve(service.loaded, service.io, { role: 'all', version, running });
  } finally {
    await provider.close(0);
    await rm(folder, { recursive: true, force: true });
  }
}

const LOOPBACK = '127.0.0.1';
