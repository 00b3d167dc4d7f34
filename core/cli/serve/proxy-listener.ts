/** Opens the capture proxy's listener: it needs upstreams and the journal, and no database, which may be away. */
import type { Egress } from '../../../proxy/egress.ts';
import { startProxy } from '../../../proxy/listen.ts';
import { requestId } from '../../../proxy/request-id.ts';
import { openUpstreams } from '../../../proxy/upstream.ts';
import { instantNow } from '../../capture/clock.ts';
import type { Journal } from '../../capture/journal.ts';
import type { Environment } from '../../config/environment.ts';
import { parseListen } from '../../config/listen.ts';
import type { Config } from '../../config/schema.ts';
import type { ListenAt } from '../../http/bind.ts';
import { refuseForeign } from '../../http/guards.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Outcome } from '../../model/coverage.ts';
import { formatOf } from '../../provider/formats.ts';
import type { ProviderId } from '../../provider/provider-ids.ts';
import type { OpenListener } from './listening.ts';

export type ProxyParts = {
  config: Config;
  journal: Journal;
  metrics: Metrics;
  log: Logger;
  env: Environment;
  /** As ProxyDeps has it. */
  formerKey: Uint8Array | null;
  allowedHosts: string[];
  /** Absent: the configured address. */
  at?: ListenAt;
};

export async function openProxy(parts: ProxyParts): Promise<OpenListener> {
  const { config, journal, log, metrics, formerKey, allowedHosts, at = parseListen(config.proxy.listen) } = parts;
  const upstreams = openUpstreams(egressOf(parts.env));
  const deps = {
    config,
    upstreams,
    journal,
    formatOf,
    formerKey,
    refuse: refuseForeign(allowedHosts),
    count: (provider: ProviderId, outcome: Outcome, hasCopy: boolean) => {
      metrics.proxyRequest(provider, outcome);
      if (!hasCopy) metrics.notCaptured(outcome); // else intake counts, once it has read the copy
    },
    addedTtfb: metrics.addedTtfb,
    now: instantNow,
    newId: requestId,
    log,
  };
  const shut = () => upstreams.close();
  const { addresses, close } = await startProxy(deps, at).catch((error: unknown) => {
    shut();
    throw error;
  });
  return { addresses, close: (graceMs) => close(graceMs).finally(shut) };
}

const egressOf = (env: Environment): Egress => ({
  httpProxy: env.HTTP_PROXY ?? env.http_proxy ?? '',
  httpsProxy: env.HTTPS_PROXY ?? env.https_proxy ?? '',
  noProxy: env.NO_PROXY ?? env.no_proxy ?? '',
});
