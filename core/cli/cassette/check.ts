/** `svc cassette check`: tells whether a cassette will be admitted, by the service's own admission, with a temporary database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pc from 'picocolors';
import { readApi } from '../../api/app.ts';
import { grantsFor } from '../../cassette/admission/grants.ts';
import { resolveSource } from '../../cassette/admission/source.ts';
import { type Conformance, type ConformanceResult, conform, STEP_FINDINGS } from '../../cassette/conformance.ts';
import { coreBinding } from '../../cassette/core-binding.ts';
import { openCassetteDatabases } from '../../cassette/database/cassette-databases.ts';
import { ListEntry } from '../../cassette/list/list.ts';
import { Rejection } from '../../cassette/running.ts';
import { openDatabase } from '../../db/open.ts';
import { openLog } from '../../log.ts';
import type { Io } from '../io.ts';
import { configFromOptions } from './config-from-options.ts';
import { describeSource } from './describe-source.ts';

/** 0: it will be admitted, and keeps what it declares. @param version of this service */
export async function checkCassette(
  source: string,
  { config }: { config: readonly string[] },
  io: Io,
  version: string,
): Promise<0 | 1> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-check-'));
  const log = openLog('silent');
  const report = (result: ConformanceResult) => io.out(lineOf(result));
  try {
    const at = /^https?:\/\//i.test(source) ? source : resolve(io.cwd, source);
    const entry = await entryOf(at, config, { folder, cwd: io.cwd });
    io.out(`${pc.bold(entry.name)} before a database of its own, which is thrown away\n`);
    const database = await openDatabase({ dsn: '', pooled: false, folder, log });
    const databases = openCassetteDatabases({ database, dsn: '', pooled: false, log });
    try {
      const api = readApi({
        execute: database.execute,
        append: () => Promise.reject(new Error('Cannot append: nothing is recorded here')),
        log,
        metrics: { apiRequest: () => {}, text: async () => '' },
        version,
        allowedHosts: [],
        token: '',
        now: Date.now,
      });
      const core = coreBinding((request) => api.fetch(request));
      const parts = {
        ...{ base: io.cwd, installed: folder, databases, core, environment: io.env },
        ...{ tmp: join(folder, 'run'), log },
      };
      const conformance = await conform(entry, parts, report);
      io.out(`${SUMMARIES[conformance]}\n`);
      return conformance === 'conforms' ? 0 : 1;
    } finally {
      await databases.close();
      await database.close();
    }
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const { step, message, problems } = error;
    const what = DESCRIBING.includes(step) ? STEP_FINDINGS[step] : 'it can be looked at';
    report({ what, problems: [message, ...problems] });
    return 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const SUMMARIES: Readonly<Record<Conformance, string>> = {
  conforms: pc.green('It can be let in'),
  faulty: pc.red('It can be let in, but does not keep what it declares'),
  refused: pc.red('It cannot be let in as it is'),
};

/** The steps that already fail where it only describes itself. */
const DESCRIBING: readonly Rejection['step'][] = ['resolve', 'start', 'manifest', 'openapi', 'tools'];

/** A list entry that grants everything that the cassette asks for: what to grant is the operator's decision. */
async function entryOf(
  source: string,
  config: readonly string[],
  at: { folder: string; cwd: string },
): Promise<ListEntry> {
  const found = await resolveSource(source, { base: at.cwd, installed: at.folder, name: '' });
  const isolation = found.kind === 'remote' ? 'remote' : 'process';
  const { document } = await describeSource(found, { isolation, name: '', folder: at.folder });
  const { name } = document.manifest.cassette;
  const grants = grantsFor(document.manifest);
  return ListEntry.parse({
    name,
    source,
    isolation,
    grants,
    config: configFromOptions(document.manifest, config, name),
  });
}

const lineOf = ({ what, problems }: ConformanceResult): string =>
  problems.length === 0
    ? `  ${pc.green('ok')}  ${what}\n`
    : `  ${pc.red('no')}  ${what}\n${problems.map((problem) => `      ${problem.replaceAll('\n', '\n      ')}\n`).join('')}`;
