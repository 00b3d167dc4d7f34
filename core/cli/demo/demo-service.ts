/** The service of a demo: the given configuration, without what would leave this machine or write into somebody's own database. */
import { join, resolve } from 'node:path';
import { parseListen } from '../../config/listen.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { OperatorError } from '../../errors.ts';
import { serveApp } from '../../http/listen.ts';
import { forEachProvider } from '../../provider/provider-ids.ts';
import type { Io } from '../io.ts';

/**
 * Of a demo in the folder, which is also its working directory: a list of cassettes where it was called is not the demo's.
 * @param provider the address that all calls are forwarded to
 */
export async function demoService(
  loaded: LoadedConfig,
  io: Io,
  { folder, provider }: { folder: string; provider: string },
): Promise<{ loaded: LoadedConfig; io: Io }> {
  const config = await demoConfig(loaded, io, provider);
  return { loaded: { ...loaded, config, folder: join(folder, '.svc') }, io: { ...io, cwd: folder } };
}

async function demoConfig({ config, source }: LoadedConfig, { cwd }: Io, provider: string): Promise<Config> {
  const listen = async (name: 'proxy' | 'api' | 'ingest') => {
    const configured = config[name].listen;
    return source[`${name}.listen`] !== 'default' || (await isFree(configured)) ? configured : ':0';
  };
  const { file: prices } = config.pricing;
  return {
    ...config,
    ...localOnly(config),
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
    // of a variable or flag, relative to where the demo was called
    pricing: { file: prices === '' || source['pricing.file'] === 'file' ? prices : resolve(cwd, prices) },
    log: { level: source['log.level'] === 'default' ? 'warn' : config.log.level }, // so that the log does not hide the demo's output
  };
}

/** All settings that name another service, at what they are without one. */
const localOnly = ({ storage, publisher, budget }: Config) => ({
  storage: { ...storage, postgres_dsn: '' },
  publisher: { stream: { ...publisher.stream, brokers: [], topic: '' } },
  vector_store: { target: '' },
  embedding: { provider: 'local' as const, target: '', model: '', dimensions: 0 },
  budget: { ...budget, webhook: '', webhook_secret: '' },
  telemetry: { endpoint: '', headers: '', disabled: true },
  update: { disabled: true },
});

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
