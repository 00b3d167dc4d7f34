/** What do the three listeners need? Each gets its app, its guard and its address; they come up together and go down together. */
import { ingestApi, malformed } from '../../ingest/app.ts';
import type { Egress } from '../../proxy/egress.ts';
import { startProxy } from '../../proxy/listen.ts';
import { requestId } from '../../proxy/request-id.ts';
import { openUpstreams } from '../../proxy/upstream.ts';
import { readApi } from '../api/app.ts';
import { instantNow } from '../capture/clock.ts';
import type { Journal } from '../capture/journal.ts';
import type { Environment } from '../config/environment.ts';
import { parseListen } from '../config/listen.ts';
import type { Config } from '../config/schema.ts';
import type { Database } from '../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { refuseForeign } from '../http/guards.ts';
import { serveApp } from '../http/listen.ts';
import type { Log } from '../log.ts';
import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import type { Outcome } from '../model/coverage.ts';
import { formatOf } from '../provider/formats.ts';

type Parts = {
  config: Config;
  database: Database;
  journal: Journal;
  engine: Engine;
  metrics: Metrics;
  log: Log;
  version: string;
  env: Environment;
};

/** Addresses as `http://127.0.0.1:8080`, one for each host that is listened on. */
export type Listeners = { proxy: string[]; api: string[]; ingest: string[]; close(graceMs: number): Promise<void> };

/** Why a request is no turn, where nobody but the proxy can tell; the other reasons are counted by intake. */
const KNOWN_AT_THE_PROXY: readonly Outcome[] = ['not_a_turn', 'unsupported_format', 'journal_full', 'disabled'];

/** @throws {OperatorError} an address is taken or is not this machine's; then none of them listens */
export async function openListeners(parts: Parts): Promise<Listeners> {
  const { config, database, log, version } = parts;
  const at = {
    proxy: parseListen(config.proxy.listen),
    api: parseListen(config.api.listen),
    ingest: parseListen(config.ingest.listen),
  };
  const allowedHosts = [...config.allowed_hosts, ...Object.values(at).flatMap(({ hosts }) => hosts)];
  if (!at.api.loopback && config.api.token === '')
    log.warn(
      { listen: config.api.listen },
      'the read API is open to other machines and asks for no token: set SVC_API_TOKEN',
    );
  const metrics = { apiRequest: parts.metrics.apiRequest, text: () => exposition(parts) };
  const { identity_key } = await database.ask('installation', {});
  const upstreams = openUpstreams(egressOf(parts.env));
  const opened: { close(graceMs: number): Promise<void> }[] = [];
  const close = async (graceMs: number) => {
    await Promise.all(opened.map((listener) => listener.close(graceMs)));
    upstreams.close();
  };
  const kept = <T extends { close(graceMs: number): Promise<void> }>(listener: T): T => {
    opened.push(listener);
    return listener;
  };
  try {
    const token = config.api.token;
    const api = readApi({ ask: database.ask, log, metrics, version, allowedHosts, token, now: Date.now });
    const ingest = ingestApi({ log, metrics, version, allowedHosts });
    return {
      api: kept(await serveApp({ fetch: api.fetch, ...at.api, what: 'read API' })).addresses,
      ingest: kept(await serveApp({ fetch: ingest.fetch, ...at.ingest, what: 'ingest API', malformed })).addresses,
      proxy: kept(
        await startProxy(
          {
            config,
            upstreams,
            journal: parts.journal,
            formatOf,
            identityKey: Buffer.from(identity_key, 'hex'),
            refuse: refuseForeign(allowedHosts),
            count: (provider, outcome) => {
              parts.metrics.proxyRequest(provider, outcome);
              if (KNOWN_AT_THE_PROXY.includes(outcome)) parts.metrics.notCaptured(outcome);
            },
            addedTtfb: parts.metrics.addedTtfb,
            now: instantNow,
            newId: requestId,
            log,
          },
          at.proxy,
        ),
      ).addresses,
      close,
    };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/** The whole process's metrics: this thread's, and the engine's. */
async function exposition({ metrics, journal, engine }: Parts): Promise<string> {
  metrics.journalBytes(journal.bytes());
  return metrics.text([(await engine.metrics()) as MetricsSnapshot]);
}

const egressOf = (env: Environment): Egress => ({
  httpProxy: env.HTTP_PROXY ?? env.http_proxy ?? '',
  httpsProxy: env.HTTPS_PROXY ?? env.https_proxy ?? '',
  noProxy: env.NO_PROXY ?? env.no_proxy ?? '',
});
