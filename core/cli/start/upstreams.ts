/** Where the proxy of a service that runs forwards to, by provider: as the service says, else as its configuration does. */
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { forEachProvider, type ProviderId, UPSTREAMS } from '../../provider/provider-ids.ts';
import { getJson } from '../get-json.ts';
import type { Io } from '../io.ts';
import { isStatus } from '../is-status.ts';
import { readApiAt } from '../read-api.ts';
import type { FoundService } from './find-service.ts';

const REPLY_MS = 1_000;

export async function upstreamsOf(
  { api, answers, isShared }: FoundService,
  loaded: LoadedConfig,
  { env, home }: Io,
): Promise<Record<ProviderId, string>> {
  const configured = isShared ? loadConfig({ flags: {}, env, cwd: home, home }).config : loaded.config;
  if (api === null || !answers || (await readApiAt(api, REPLY_MS)) !== 'there') return configured.proxy.upstreams;
  const { token } = loaded.config.api;
  const reply = await getJson({ address: api, path: '/v1/admin/status', token, timeoutMs: REPLY_MS });
  const settings = typeof reply === 'object' && isStatus(reply.body) ? reply.body.service?.settings : undefined;
  if (!settings) return configured.proxy.upstreams;
  return forEachProvider((id) => {
    const changed = settings.find(({ key }) => key === `proxy.upstreams.${id}`)?.value;
    return typeof changed === 'string' ? changed : UPSTREAMS[id];
  });
}
