/** Admission of a source, step by step in a fixed order; the first step that fails is the reason. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GrantsUnavailable, MigrationRefused } from '../../db/cassette/grants-unavailable.ts';
import { LOCK_TIMEOUT, READ_ONLY } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import type { Logger as OurLog } from '../../log.ts';
import { packageRoot } from '../../package-root.ts';
import { cassetteLog } from '../cassette-log.ts';
import type { Env, Migration } from '../contract.ts';
import type { CassetteDatabases } from '../database/cassette-databases.ts';
import { startInline } from '../isolation/inline.ts';
import { startProcess } from '../isolation/process.ts';
import { startRemote } from '../isolation/remote.ts';
import type { SharedProcess } from '../isolation/shared.ts';
import type { ListEntry } from '../list/list.ts';
import { type CassetteDocument, readDocument } from '../openapi/document.ts';
import { documentText } from '../openapi/document-text.ts';
import { type Bindings, type Isolation, type LoadedModule, Rejection, type RunningCassette } from '../running.ts';
import { digestOf } from './digest.ts';
import { refuseUngranted } from './grants.ts';
import { type HealthRetries, untilHealthy } from './health.ts';
import { type DeclaredManifest, parseManifest, refuseOtherManifest } from './manifest.ts';
import { readSettings, settingsFromEnvironment } from './settings.ts';
import { type CassetteSource, resolveSource } from './source.ts';

export type AdmissionParts = {
  /** The folder of the list that has the entry, and the folder of installed packages. */
  base: string;
  installed: string;
  /** null: there is no database to bind. */
  databases: CassetteDatabases | null;
  core: NonNullable<Env['CORE']> | null;
  environment: Readonly<Record<string, string | undefined>>;
  /** Names of all installed cassettes. Absent: it is the only one. */
  names?: () => readonly string[];
  /** Settings of the service itself, for the cassettes that come with it. (core-settings.ts) */
  coreSettings?: Readonly<Record<string, unknown>>;
  /** Where cassettes that come with the service run, unless their entry says otherwise. Absent: each runs in a process of its own. */
  shared?: SharedProcess;
  /** A folder of the service for what a process needs while it runs. */
  tmp: string;
  log: OurLog;
  timeouts?: AdmissionTimeouts;
};

/** How long a cassette may take to load and to return its document, and how often its health is checked. */
export type AdmissionTimeouts = {
  loadMs: number;
  documentMs: number;
  health: HealthRetries;
};

export type Admitted = {
  running: RunningCassette;
  manifest: DeclaredManifest;
  document: CassetteDocument;
  source_digest: string | null;
};

const SERVED_CORE = ['v1'];
/** On the embedded database all other statements wait while one runs. */
const STATEMENT_MS = 10_000;
const DEFAULT_TIMEOUTS: AdmissionTimeouts = {
  loadMs: 10_000,
  documentMs: 10_000,
  health: { tries: 10, eachMs: 2_000, betweenMs: 500 },
};

/** The source runs when this returns, and nothing of it runs when this throws. @param signal cancels the admission @throws {Rejection} */
export async function admit(entry: ListEntry, parts: AdmissionParts, signal: AbortSignal): Promise<Admitted> {
  const { documentMs, health } = parts.timeouts ?? DEFAULT_TIMEOUTS;
  const source = await resolveSource(entry.source, { ...parts, name: entry.name });
  const isolation = isolationOf(entry, source);
  const source_digest = source.kind === 'module' ? await digestOf(source.folder) : null;
  if (source_digest !== null) refuseChanged(entry, source_digest, source);

  const running = await start(entry, source, isolation, { ...parts, source_digest, signal });
  try {
    const text = await documentOf(running, source, { ms: documentMs, signal });
    const document = await readDocument(text, { name: entry.name, isolation });
    if (source.kind === 'remote') refuseChanged(entry, document.openapi_digest, source);
    const { manifest } = document;
    if (running.loaded) refuseOtherManifest(running.loaded.manifest, manifest);
    if (isolation === 'remote') refuseUngranted(manifest, entry.grants, ['forward_auth']);
    await refuseMissing(manifest, parts.databases);
    if (isolation !== 'remote' && manifest.bindings.db) await makeSchema(entry, manifest, running.loaded, parts);
    await untilHealthy(running, manifest.api.health, health, signal);
    return { running, manifest, document, source_digest };
  } catch (error) {
    await running.close(0);
    throw error;
  }
}

/** The digest of the source as it is now; null when it cannot be read. */
export async function digestOfSource(entry: ListEntry, parts: AdmissionParts): Promise<string | null> {
  try {
    const source = await resolveSource(entry.source, { ...parts, name: entry.name });
    return source.kind === 'module' ? await digestOf(source.folder) : null;
  } catch {
    return null;
  }
}

export function isolationOf(
  { isolation }: Pick<ListEntry, 'isolation'>,
  source: Pick<CassetteSource, 'kind'>,
): Isolation {
  const defaultIsolation = source.kind === 'remote' ? 'remote' : 'process';
  if (isolation !== undefined && (isolation === 'remote') !== (defaultIsolation === 'remote'))
    throw new Rejection(
      'resolve',
      defaultIsolation === 'remote'
        ? `Cannot run an address ${isolation === 'inline' ? 'inline' : 'as a process'}: it runs where it is, its isolation is "remote"`
        : 'Cannot take a folder for remote: give the address of its OpenAPI document',
    );
  return isolation ?? defaultIsolation;
}

function refuseChanged({ digest }: ListEntry, found: string, source: CassetteSource): void {
  if (digest === undefined || digest === found) return;
  const git = source.kind === 'module' && existsSync(join(source.folder, '.git'));
  throw new Rejection(
    'digest',
    `Cannot take it: it is not what was pinned (pinned ${digest}, found ${found}); install it again, or pin what is there${
      git ? "; its '.git' counts too and changes with every use of git, so pin a copy without it" : ''
    }`,
  );
}

/** @param admittedDigest the digest when it was admitted @throws {Rejection} digest */
async function refuseOther(
  entry: ListEntry,
  source: CassetteSource & { kind: 'module' },
  admittedDigest: string | null,
): Promise<void> {
  const found = await digestOf(source.folder);
  refuseChanged(entry, found, source);
  if (found !== admittedDigest)
    throw new Rejection(
      'digest',
      `Cannot start it: its files have changed since they were looked at (found ${found}, before ${admittedDigest})`,
    );
}

type StartParts = AdmissionParts & { source_digest: string | null; signal: AbortSignal };

function start(
  entry: ListEntry,
  source: CassetteSource,
  isolation: Isolation,
  parts: StartParts,
): Promise<RunningCassette> | RunningCassette {
  if (source.kind === 'remote') return startRemote({ address: source.address, name: entry.name });
  const module = {
    name: entry.name,
    folder: source.folder,
    entry: source.entry,
    beside: source.beside ?? [],
    bindingsFor: (loaded: LoadedModule) => bindingsFor(entry, loaded, parts),
    network: entry.grants.bindings.includes('network'),
    unchanged: () => refuseOther(entry, source, parts.source_digest),
    log: cassetteLog(parts.log, entry.name),
  };
  const { loadMs } = parts.timeouts ?? DEFAULT_TIMEOUTS;
  if (parts.shared && entry.isolation === undefined && parts.base === packageRoot()) return parts.shared.start(module);
  return isolation === 'inline'
    ? startInline(module)
    : startProcess(module, { tmp: parts.tmp, loadMs, signal: parts.signal });
}

/** The bindings of a module, by its manifest. The database is bound before its schema is made; until then there is nothing to read. */
function bindingsFor(entry: ListEntry, loaded: LoadedModule, parts: AdmissionParts): Bindings {
  const { databases, core, environment, names = () => [], log } = parts;
  const { name } = entry;
  const manifest = parseManifest(loaded.manifest);
  refuseUngranted(manifest, entry.grants);
  const config = { ...serviceSettings(manifest, parts), ...entry.config };
  return {
    LOG: cassetteLog(log, name),
    CONFIG: readSettings(manifest, config, settingsFromEnvironment(name, environment, names()), name),
    DB:
      manifest.bindings.db && databases
        ? databases.db(name, { statementMs: STATEMENT_MS, builtIn: isBuiltIn(parts) })
        : null,
    CORE: manifest.bindings.core ? core : null,
  };
}

const isBuiltIn = ({ base }: Pick<AdmissionParts, 'base'>): boolean => base === packageRoot();

/** Only the settings that it declares, and only if it comes with the service: anybody could declare a key of ours. */
const serviceSettings = ({ config }: DeclaredManifest, { base, coreSettings = {} }: AdmissionParts) =>
  isBuiltIn({ base })
    ? Object.fromEntries(Object.entries(coreSettings).filter(([key]) => config.some((setting) => setting.key === key)))
    : {};

const documentOf = (
  running: RunningCassette,
  source: CassetteSource,
  options: { ms: number; signal: AbortSignal },
): Promise<string> =>
  source.kind === 'remote'
    ? documentText(running, `${source.address.pathname}${source.address.search}`, { step: 'resolve', ...options })
    : documentText(running, parseManifest(running.loaded?.manifest).api.openapi, { step: 'openapi', ...options });

async function refuseMissing({ depends }: DeclaredManifest, databases: CassetteDatabases | null): Promise<void> {
  if (!SERVED_CORE.includes(depends.core))
    throw new Rejection('depends', `Cannot serve it: it needs the read API ${depends.core}, and this is v1`);
  const missing = databases && depends.views.length > 0 ? await databases.missingViews(depends.views) : [];
  if (missing.length > 0)
    throw new Rejection(
      'depends',
      `Cannot serve it: there is no view ${missing.map((view) => `svc_v1.${view}`).join(', ')}`,
    );
}

async function makeSchema(
  { name }: ListEntry,
  { depends }: DeclaredManifest,
  loaded: LoadedModule | null,
  { databases, base }: AdmissionParts,
): Promise<void> {
  if (!databases) return; // it has no DB, and reports that to its callers itself
  try {
    const migrations = migrationsOf(loaded);
    await databases.provision({ name, views: depends.views, extensions: depends.extensions, migrations });
    await databases.migrate(name, migrations, { builtIn: isBuiltIn({ base }) });
  } catch (error) {
    if (error instanceof GrantsUnavailable)
      throw new Rejection('migrate', `grants-unavailable: ${error.message}`, error.sql === '' ? [] : [error.sql]);
    if (error instanceof MigrationRefused) throw new Rejection('migrate', error.message, [], { final: error.final });
    if (error instanceof DatabaseError)
      throw new Rejection('migrate', `Cannot make its schema: ${error.transient ? whyAway(error) : error.message}`);
    throw error;
  }
}

function whyAway({ sqlstate, message }: DatabaseError): string {
  if (sqlstate === READ_ONLY) return 'the database takes no writes (a standby)';
  if (sqlstate === LOCK_TIMEOUT) return message.replace(/^Cannot run a statement: /, ''); // the database is there
  return 'the database is away';
}

function migrationsOf(loaded: LoadedModule | null): Migration[] {
  const migrations = loaded?.migrations ?? [];
  const isMigration = (one: unknown): one is Migration =>
    typeof one === 'object' &&
    one !== null &&
    typeof (one as Migration).sql === 'string' &&
    /^[a-z0-9_-]{1,100}$/.test(String((one as Migration).name));
  if (!Array.isArray(migrations) || !migrations.every(isMigration))
    throw new Rejection(
      'migrate',
      'Cannot make its schema: "migrations" must be a list of {name, sql}, with names of a-z, 0-9, _ and -',
    );
  if (new Set(migrations.map(({ name }) => name)).size < migrations.length)
    throw new Rejection('migrate', 'Cannot make its schema: two of its migrations have one name');
  return migrations;
}
