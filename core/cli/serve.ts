/** How does the service come up, and go down again? All parts are wired here, and nowhere else. */
import { join } from 'node:path';
import { ingestApi, malformed } from '../../ingest/app.ts';
import type { Egress } from '../../proxy/egress.ts';
import { startProxy } from '../../proxy/listen.ts';
import { requestId } from '../../proxy/request-id.ts';
import { openUpstreams } from '../../proxy/upstream.ts';
import { readApi } from '../api/app.ts';
import { instantNow } from '../capture/clock.ts';
import { type Journal, openJournal } from '../capture/journal.ts';
import { parseListen } from '../config/listen.ts';
import type { Loaded } from '../config/load.ts';
import { lockFolder } from '../db/folder-lock.ts';
import { openDatabase } from '../db/open.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { refuseForeign } from '../http/guards.ts';
import { serveApp } from '../http/listen.ts';
import { type Log, openLog } from '../log.ts';
import { type MetricsSnapshot, openMetrics } from '../metrics.ts';
import type { Outcome } from '../model/coverage.ts';
import { formatOf } from '../provider/formats.ts';
import { banner } from './banner.ts';
import type { Io } from './program.ts';

const GRACE_MS = 10_000; // for streams under way when we are asked to stop
const DRAIN_MS = 10_000; // for the journal to reach the database; what does not is taken in at the next start

/** Why a request is no turn, where nobody but the proxy can tell; the other reasons are counted by intake. */
const KNOWN_AT_THE_PROXY: readonly Outcome[] = ['not_a_turn', 'unsupported_format', 'journal_full', 'disabled'];

/**
 * Runs capture proxy, read API and ingest API with their engine until SIGTERM or SIGINT; settles when all of it has stopped.
 * @throws {OperatorError} an address is taken, the folder is in use, the database cannot be reached
 */
export async function serve({ config, folder }: Loaded, io: Io, version: string): Promise<void> {
  const log = openLog(config.log.level);
  const metrics = openMetrics('all', version);
  const closers: (() => Promise<unknown>)[] = []; // undone in reverse when a later part cannot start
  const stopped = signalled();
  try {
    // The embedded database locks the folder itself; the journal in it needs that with a server just as well.
    if (config.storage.postgres_dsn !== '') closers.push(await lockFolder(folder));
    const database = await openDatabase({
      dsn: config.storage.postgres_dsn,
      pooled: config.storage.pooled,
      folder,
      log,
    });
    closers.push(() => database.close());
    const { identity_key } = await database.ask('installation', {});
    const journal = await openJournal({ folder: join(folder, 'journal'), maxBytes: config.journal.max_bytes, log });
    closers.push(() => journal.close());
    const engine = await startEngine({
      connection: () => database.connection(),
      journalFolder: join(folder, 'journal'),
      runId: journal.runId,
      logLevel: config.log.level,
      log,
      freed: (bytes) => journal.freed(bytes),
    });
    closers.push(() => engine.stop());
    journal.onWritten((segment, byteOffset) => engine.written(segment, byteOffset));

    const [proxyAt, apiAt, ingestAt] = [config.proxy.listen, config.api.listen, config.ingest.listen].map(parseListen);
    if (!proxyAt || !apiAt || !ingestAt) throw new Error('Cannot serve: an address is missing');
    const allowedHosts = [...config.allowed_hosts, ...proxyAt.hosts, ...apiAt.hosts, ...ingestAt.hosts];
    const api = await serveApp({
      fetch: readApi({
        ask: database.ask,
        log,
        metrics: {
          apiRequest: metrics.apiRequest,
          text: async () => {
            metrics.journalBytes(journal.bytes());
            return metrics.text([(await engine.metrics()) as MetricsSnapshot]);
          },
        },
        version,
        allowedHosts,
        token: config.api.token,
        now: Date.now,
      }).fetch,
      ...apiAt,
      what: 'read API',
    });
    closers.push(() => api.close(0));
    const ingest = await serveApp({
      fetch: ingestApi({ log, metrics, version, allowedHosts }).fetch,
      ...ingestAt,
      what: 'ingest API',
      malformed,
    });
    closers.push(() => ingest.close(0));
    const upstreams = openUpstreams(egressOf(io.env));
    const proxy = await startProxy(
      {
        config,
        upstreams,
        journal,
        formatOf,
        identityKey: Buffer.from(identity_key, 'hex'),
        refuse: refuseForeign(allowedHosts),
        count: (provider, outcome) => {
          metrics.proxyRequest(provider, outcome);
          if (KNOWN_AT_THE_PROXY.includes(outcome)) metrics.notCaptured(outcome);
        },
        addedTtfb: metrics.addedTtfb,
        now: instantNow,
        newId: requestId,
        log,
      },
      proxyAt,
    );
    closers.push(() => proxy.close(0));

    if (!apiAt.loopback && config.api.token === '')
      log.warn(
        { listen: config.api.listen },
        'the read API is open to other machines and asks for no token: set SVC_API_TOKEN',
      );
    io.out(
      banner({
        version,
        proxy: shown(proxy.addresses),
        api: shown(api.addresses),
        ingest: shown(ingest.addresses),
        data: whereData(config.storage.postgres_dsn, folder),
        provider: config.proxy.provider,
      }),
    );

    const signal = await stopped.first;
    log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
    await Promise.race([
      Promise.all([proxy.close(GRACE_MS), api.close(GRACE_MS), ingest.close(GRACE_MS)]),
      stopped.second,
    ]);
    await drain(journal, engine, log);
    upstreams.close();
  } finally {
    stopped.forget();
    for (const close of closers.reverse())
      await close().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  }
}

/** What the journal holds is brought into the database; what cannot be is still there at the next start. */
async function drain(journal: Journal, engine: Engine, log: Log): Promise<void> {
  await journal.flush();
  if (!(await engine.drain(DRAIN_MS))) log.warn('the journal is not empty: the rest is taken in at the next start');
}

/** The first signal asks to stop, a second one to be quick about it. */
function signalled(): { first: Promise<string>; second: Promise<void>; forget(): void } {
  let heard = 0;
  let first = (_signal: string) => {};
  let second = () => {};
  const hear = (signal: string) => (heard++ === 0 ? first(signal) : second());
  const signals = ['SIGTERM', 'SIGINT'];
  for (const signal of signals) process.on(signal, hear);
  return {
    first: new Promise((resolve) => {
      first = resolve;
    }),
    second: new Promise((resolve) => {
      second = resolve;
    }),
    forget: () => {
      for (const signal of signals) process.off(signal, hear);
    },
  };
}

/** Where the turns lie, without the password of a DSN. */
function whereData(dsn: string, folder: string): string {
  if (dsn === '') return join(folder, 'data');
  const { host, pathname } = new URL(dsn);
  return `PostgreSQL at ${host}${pathname}`;
}

/** An address to paste: loopback by its name. */
const shown = (addresses: readonly string[]) =>
  (addresses[0] ?? '').replace('//127.0.0.1:', '//localhost:').replace('//[::1]:', '//localhost:');

const egressOf = (env: Readonly<Record<string, string | undefined>>): Egress => ({
  httpProxy: env.HTTP_PROXY ?? env.http_proxy ?? '',
  httpsProxy: env.HTTPS_PROXY ?? env.https_proxy ?? '',
  noProxy: env.NO_PROXY ?? env.no_proxy ?? '',
});
