/** `svc cassette serve`: runs one cassette alone, on a listener of its own, with the database and the core that the environment names. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Hono } from 'hono';
import { admit } from '../../cassette/admission/admission.ts';
import { coreSettings } from '../../cassette/admission/core-settings.ts';
import { grantsFor } from '../../cassette/admission/grants.ts';
import { ownPrefix, parseManifest } from '../../cassette/admission/manifest.ts';
import { resolveSource } from '../../cassette/admission/source.ts';
import { coreBinding } from '../../cassette/core-binding.ts';
import { openCassetteDatabases } from '../../cassette/database/cassette-databases.ts';
import { startInline } from '../../cassette/isolation/inline.ts';
import { ListEntry } from '../../cassette/list/list.ts';
import { listFiles, listTexts, readLists } from '../../cassette/list/read-list.ts';
import { CassetteDown, Rejection } from '../../cassette/running.ts';
import { keepSchedule } from '../../cassette/schedule.ts';
import { readCredentials } from '../../config/credentials.ts';
import { parseListen } from '../../config/listen.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { openDatabase } from '../../db/open.ts';
import { OperatorError, Refusal } from '../../errors.ts';
import { callers } from '../../http/caller.ts';
import { onError } from '../../http/failure.ts';
import { guard } from '../../http/guards.ts';
import { serveApp } from '../../http/listen.ts';
import { requestIds } from '../../http/request-id.ts';
import type { HttpEnv } from '../../http/routes.ts';
import { openLog } from '../../log.ts';
import { packageRoot } from '../../package-root.ts';
import type { Io } from '../io.ts';
import { configFromOptions } from './config-from-options.ts';

const GRACE_MS = 10_000;

export type ServeOptions = { listen: string; name: string | null; config: readonly string[] };

/**
 * Serves `/ping`, `/openapi` and `/api/<name>/…` until SIGTERM, SIGINT or SIGHUP. Everything that the cassette asks for is granted.
 * @throws {OperatorError} it cannot be admitted, or its address is taken
 */
export async function serveCassette(
  source: string,
  options: ServeOptions,
  { config, folder: effective }: LoadedConfig,
  io: Io,
): Promise<void> {
  const log = openLog(config.log.level);
  const { SVC_DATABASE_URL: dsn = '', SVC_CORE_URL: coreUrl = '' } = io.env;
  const folder = await mkdtemp(join(tmpdir(), 'svc-cassette-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stopped = new Promise<string>((stop) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stop(signal));
    process.on('SIGHUP', stop); // a terminal that is closed sends several (serve/stop-signals.ts)
  });
  try {
    const database = dsn === '' ? null : await openDatabase({ dsn, pooled: config.storage.pooled, folder, log });
    if (database) closers.push(() => database.close());
    const databases = database && openCassetteDatabases({ database, dsn, pooled: config.storage.pooled, log });
    if (databases) closers.push(() => databases.close());
    const core = coreUrl === '' ? null : coreAt(coreUrl, config.api.token);
    const wanted = await wantedOf(source, io.cwd);
    const parts = {
      coreSettings: coreSettings(config, readCredentials(effective, io.env), effective),
      ...{ base: wanted.base, installed: folder, databases, core, environment: io.env },
      ...{ tmp: join(folder, 'run'), log },
    };
    const entry = await entryOf(wanted, options, folder);
    const { running, manifest } = await admit(entry, parts, new AbortController().signal);
    closers.push(() => running.close(GRACE_MS));
    const every = manifest.schedule?.every_seconds;
    if (running.loaded?.scheduled && every !== undefined) {
      const schedule = keepSchedule({
        ...{ name: entry.name, everyMs: every * 1000, databases, now: Date.now },
        changed: manifest.schedule?.on_change ? (databases?.changes ?? null) : null,
        run: (event) => running.scheduled(event),
        ran: ({ error }) => {
          if (error !== null) log.warn({ reason: error }, 'its background work failed');
        },
      });
      closers.push(() => schedule.stop());
    }
    const at = parseListen(options.listen);
    const app = cassetteApp({
      forward: (request) => running.fetch(request),
      allowedHosts: [...config.allowed_hosts, ...at.hosts],
      trusted: config.api.trust_caller_header,
      log,
    });
    const listener = await serveApp({ fetch: app.fetch, ...at, what: 'cassette' });
    closers.push(() => listener.close(GRACE_MS));
    const own = ownPrefix(manifest);
    io.out(
      `${entry.name} ${manifest.cassette.version} answers at ${listener.addresses[0]}${own}\n  contract  ${listener.addresses[0]}${manifest.api.openapi}\n  database  ${dsn === '' ? 'none: SVC_DATABASE_URL is not set' : 'SVC_DATABASE_URL'}\n  core      ${coreUrl === '' ? 'none: SVC_CORE_URL is not set' : coreUrl}\n`,
    );
    const signal = await stopped;
    log.info({ signal }, 'stopping');
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const { message, problems } = error;
    throw new OperatorError([message, ...(problems.length > 1 ? problems.map((one) => `  ${one}`) : [])].join('\n'));
  } finally {
    for (const close of closers.reverse())
      await close().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  }
}

/** The source of the cassette; a built-in one may be given by its name alone. */
async function wantedOf(source: string, cwd: string): Promise<{ source: string; base: string }> {
  const { builtIn } = listFiles({ cwd, folder: cwd });
  const { list } = readLists(await listTexts({ builtIn, candidates: [] }));
  const ours = list.find(({ name }) => name === source);
  return ours ? { source: ours.source, base: packageRoot() } : { source: resolve(cwd, source), base: cwd };
}

/** Reads the manifest by loading the cassette in this process: the operator who serves it trusts it. */
async function entryOf(
  { source, base }: { source: string; base: string },
  { name, config }: ServeOptions,
  folder: string,
): Promise<ListEntry> {
  const found = await resolveSource(source, { base, installed: folder, name: '' });
  if (found.kind === 'remote')
    throw new OperatorError('Cannot serve an address: it runs where it is; give the folder of a cassette', 2);
  const nothing = () => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const running = await startInline({
    ...{ name: name ?? source, folder: found.folder, entry: found.entry, network: true, log },
    bindingsFor: () => ({ LOG: log, CONFIG: {}, DB: null, CORE: null }),
  });
  const manifest = parseManifest(running.loaded?.manifest);
  await running.close(0);
  const as = name ?? manifest.cassette.name;
  const settings = configFromOptions(manifest, config, as);
  return ListEntry.parse({ name: as, source, isolation: 'inline', grants: grantsFor(manifest), config: settings });
}

/** A binding to the read API of another process. @throws {OperatorError} SVC_CORE_URL is no address */
function coreAt(address: string, token: string) {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new OperatorError("Cannot start: SVC_CORE_URL must be an address, such as 'http://localhost:8081'", 2);
  const base = address.replace(/\/+$/, '');
  return coreBinding((request) => {
    const { pathname, search } = new URL(request.url);
    const { method, signal } = request;
    const headers = new Headers(request.headers);
    if (token !== '') headers.set('authorization', `Bearer ${token}`);
    return fetch(`${base}${pathname}${search}`, { method, headers, signal, redirect: 'manual' });
  });
}

type AppParts = {
  forward: (request: Request) => Promise<Response>;
  allowedHosts: readonly string[];
  trusted: boolean;
  log: ReturnType<typeof openLog>;
};

/** An app with the cassette's own paths, behind the guard that all listeners have. */
function cassetteApp({ forward, allowedHosts, trusted, log }: AppParts) {
  const app = new Hono<HttpEnv>();
  app.use(requestIds());
  app.use(guard(allowedHosts));
  app.use(callers(trusted));
  app.all('*', async (c) => {
    const caller = c.get('caller');
    if (caller) c.req.raw.headers.set('x-svc-auth-subject', caller);
    const response = await forward(c.req.raw).catch((error: unknown) => {
      if (!(error instanceof CassetteDown)) throw error;
      throw new Refusal(error.kind === 'unavailable' ? 'cassette-unavailable' : 'cassette-broken', error.message);
    });
    const { outgoing } = c.env ?? {};
    return c.newResponse(response.body && cutWhereItBreaks(response.body, () => outgoing?.destroy()), response);
  });
  app.onError(onError(log));
  return app;
}

/** Closes the connection of a response that breaks off; the adaptor would write a stream error into the body. */
function cutWhereItBreaks(body: ReadableStream<Uint8Array>, cut: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        cut();
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
