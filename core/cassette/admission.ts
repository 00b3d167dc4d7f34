/** May a source come in? Its steps in order; the first that fails is the reason. (DESIGN section 9, 'Admission'.) */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CassetteDatabases } from '../db/cassette/cassette-databases.ts';
import { GrantsUnavailable, MigrationRefused } from '../db/cassette/grants-unavailable.ts';
import { DatabaseError } from '../errors.ts';
import type { Logger as OurLog } from '../log.ts';
import { packageRoot } from '../package-root.ts';
import { cassetteLog } from './cassette-log.ts';
import type { Env, Migration } from './contract.ts';
import { digestOf } from './digest.ts';
import { type CassetteDocument, readDocument } from './document.ts';
import { documentText } from './document-text.ts';
import { refuseUngranted } from './grants.ts';
import { type HealthPatience, untilHealthy } from './health.ts';
import { startInline } from './isolation/inline.ts';
import { startProcess } from './isolation/process.ts';
import { startRemote } from './isolation/remote.ts';
import type { SharedProcess } from './isolation/shared.ts';
import type { ListEntry } from './list.ts';
import { type DeclaredManifest, parseManifest, refuseOtherManifest } from './manifest.ts';
import { type Handed, type Isolation, type LoadedModule, Rejection, type RunningCassette } from './running.ts';
import { readSettings, settingsFromEnvironment } from './settings.ts';
import { type CassetteSource, resolveSource } from './source.ts';

export type AdmissionParts = {
  /** Where the list stands that has the entry, and what was installed. */
  base: string;
  installed: string;
  /** null: there is no database to hand out. */
  databases: CassetteDatabases | null;
  core: NonNullable<Env['CORE']> | null;
  environment: Readonly<Record<string, string | undefined>>;
  /** Names of all that are installed. Absent: it is alone. */
  names?: () => readonly string[];
  /** Of the service itself, for those that come with it. (core-settings.ts) */
  coreSettings?: Readonly<Record<string, unknown>>;
  /** Where those that come with the service run, unless their entry says otherwise. Absent: each is kept apart like any other. */
  shared?: SharedProcess;
  /** A folder of ours for what a process needs while it runs. */
  tmp: string;
  log: OurLog;
  patience?: Patience;
};

/** How long it may take to load, to hand out its document, and how often it is asked whether it is well. */
export type Patience = {
  loadMs: number;
  documentMs: number;
  health: HealthPatience;
};

export type Admitted = {
  running: RunningCassette;
  manifest: DeclaredManifest;
  document: CassetteDocument;
  source_digest: string | null;
};

const SERVED_CORE = ['v1'];
/** On the embedded database everybody waits while a statement runs. */
const STATEMENT_MS = 10_000;
const PATIENCE: Patience = {
  loadMs: 10_000,
  documentMs: 10_000,
  health: { tries: 10, eachMs: 2_000, betweenMs: 500 },
};

/** The source runs when this returns, and nothing of it does when it throws. @param signal it is wanted no more @throws {Rejection} */
export async function admit(entry: ListEntry, parts: AdmissionParts, signal: AbortSignal): Promise<Admitted> {
  const { documentMs, health } = parts.patience ?? PATIENCE;
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

/** What stands there now; null when it cannot be read. */
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
  const usual = source.kind === 'remote' ? 'remote' : 'process';
  if (isolation !== undefined && (isolation === 'remote') !== (usual === 'remote'))
    throw new Rejection(
      'resolve',
      usual === 'remote'
        ? `Cannot run an address ${isolation === 'inline' ? 'inline' : 'as a process'}: it runs where it is, its isolation is "remote"`
        : 'Cannot take a folder for remote: give the address of its OpenAPI document',
    );
  return isolation ?? usual;
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

/** @param admitted its digest when it was admitted @throws {Rejection} digest */
async function refuseOther(
  entry: ListEntry,
  source: CassetteSource & { kind: 'module' },
  admitted: string | null,
): Promise<void> {
  const found = await digestOf(source.folder);
  refuseChanged(entry, found, source);
  if (found !== admitted)
    throw new Rejection(
      'digest',
      `Cannot start it: its files have changed since they were looked at (found ${found}, before ${admitted})`,
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
    handed: (loaded: LoadedModule) => handed(entry, loaded, parts),
    network: entry.grants.bindings.includes('network'),
    unchanged: () => refuseOther(entry, source, parts.source_digest),
    log: cassetteLog(parts.log, entry.name),
  };
  const { loadMs } = parts.patience ?? PATIENCE;
  if (parts.shared && entry.isolation === undefined && parts.base === packageRoot()) return parts.shared.start(module);
  return isolation === 'inline'
    ? startInline(module)
    : startProcess(module, { tmp: parts.tmp, loadMs, signal: parts.signal });
}

/** What it gets, once it has said what it is. A database is handed out before its schema is made; until then it has nothing to read. */
function handed(entry: ListEntry, loaded: LoadedModule, parts: AdmissionParts): Handed {
  const { databases, core, environment, names = () => [], log } = parts;
  const { name } = entry;
  const manifest = parseManifest(loaded.manifest);
  refuseUngranted(manifest, entry.grants);
  const given = { ...ofTheService(manifest, parts), ...entry.config };
  return {
    LOG: cassetteLog(log, name),
    CONFIG: readSettings(manifest, given, settingsFromEnvironment(name, environment, names()), name),
    DB:
      manifest.bindings.db && databases
        ? databases.db(name, { statementMs: STATEMENT_MS, builtIn: isBuiltIn(parts) })
        : null,
    CORE: manifest.bindings.core ? core : null,
  };
}

const isBuiltIn = ({ base }: Pick<AdmissionParts, 'base'>): boolean => base === packageRoot();

/** Only what it declares, and only to what comes with the service: anybody could declare a key of ours. */
const ofTheService = ({ config }: DeclaredManifest, { base, coreSettings = {} }: AdmissionParts) =>
  isBuiltIn({ base })
    ? Object.fromEntries(Object.entries(coreSettings).filter(([key]) => config.some((setting) => setting.key === key)))
    : {};

const documentOf = (
  running: RunningCassette,
  source: CassetteSource,
  asking: { ms: number; signal: AbortSignal },
): Promise<string> =>
  source.kind === 'remote'
    ? documentText(running, `${source.address.pathname}${source.address.search}`, { step: 'resolve', ...asking })
    : documentText(running, parseManifest(running.loaded?.manifest).api.openapi, { step: 'openapi', ...asking });

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
  if (!databases) return; // it has no DB, and says so to whoever asks
  try {
    await databases.provision({ name, views: depends.views, extensions: depends.extensions });
    await databases.migrate(name, migrationsOf(loaded), { builtIn: isBuiltIn({ base }) });
  } catch (error) {
    if (error instanceof GrantsUnavailable)
      throw new Rejection('migrate', `grants-unavailable: ${error.message}`, error.sql === '' ? [] : [error.sql]);
    if (error instanceof MigrationRefused) throw new Rejection('migrate', error.message, [], { final: error.final });
    if (error instanceof DatabaseError)
      throw new Rejection(
        'migrate',
        `Cannot make its schema: ${error.transient ? 'the database is away' : error.message}`,
      );
    throw error;
  }
}

function migrationsOf(loaded: LoadedModule | null): Migration[] {
  const given = loaded?.migrations ?? [];
  const isOne = (one: unknown): one is Migration =>
    typeof one === 'object' &&
    one !== null &&
    typeof (one as Migration).sql === 'string' &&
    /^[a-z0-9_-]{1,100}$/.test(String((one as Migration).name));
  if (!Array.isArray(given) || !given.every(isOne))
    throw new Rejection(
      'migrate',
      'Cannot make its schema: "migrations" must be a list of {name, sql}, with names of a-z, 0-9, _ and -',
    );
  if (new Set(given.map(({ name }) => name)).size < given.length)
    throw new Rejection('migrate', 'Cannot make its schema: two of its migrations have one name');
  return given;
}
