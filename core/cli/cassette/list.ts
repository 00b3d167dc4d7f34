/** `svc cassette list`: which cassettes are on the list, and the state of each in the service that runs. */
import pc from 'picocolors';
import type { ListEntry } from '../../cassette/list/list.ts';
import { BadList, listFiles, listTexts, type ReadLists, readLists } from '../../cassette/list/read-list.ts';
import { shownSource } from '../../cassette/shown-source.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { CassetteInfo, CassetteList } from '../../model/cassette.ts';
import type { Io } from '../io.ts';
import { jsonText } from '../print-response.ts';
import { fetchReadApi } from '../read-api.ts';
import { lasting, plain } from '../units.ts';
import { isCassetteList } from './is-list.ts';
import type { Target } from './target.ts';

type Row = {
  name: string;
  /** null: no running service has it. */
  state: string | null;
  version: string | null;
  isolation: string;
  since: string | null;
  source: string | null; // null: it runs but is not on this list
  reason: string | null;
};

type Listing = { running: boolean; file: string | null; problem: string | null; remarks: string[]; cassettes: Row[] };

type Listed = Io & { target?: Target };

/** The exit status: 0, or 1 when the list cannot be used. */
export async function listCassettes(loaded: LoadedConfig, { json }: { json: boolean }, io: Listed): Promise<0 | 1> {
  const [read, response] = await Promise.all([
    listsIn(loaded, io),
    fetchReadApi(loaded, { path: '/v1/cassettes', is: isCassetteList, what: 'list of cassettes' }),
  ]);
  const { lists, problem } = read;
  const listing: Listing = {
    running: response.answer !== null,
    file: lists?.file ?? null,
    problem,
    remarks: response.remarks,
    cassettes: rows(lists?.list ?? [], response.answer, lists !== null),
  };
  io.out(json ? jsonText(listing, io, 2) : page(listing, Date.now()));
  return problem === null ? 0 : 1;
}

async function listsIn(
  { folder, config }: LoadedConfig,
  { cwd, target }: Listed,
): Promise<{ lists: ReadLists | null; problem: string | null }> {
  try {
    return {
      lists: readLists(
        await listTexts(target?.files ?? listFiles({ cwd, folder, built_in: config.cassettes.built_in })),
      ),
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof BadList)) throw error;
    return { lists: null, problem: error.message };
  }
}

/** The entries of the list, and the cassettes that run without being on it. */
function rows(list: readonly ListEntry[], running: CassetteList | null, known: boolean): Row[] {
  const wanted = list.map((entry): Row => {
    const info = running?.cassettes.find(({ name }) => name === entry.name);
    return {
      name: entry.name,
      state: entry.enabled ? (info?.state ?? null) : 'off',
      version: info?.version ?? versionOf(entry),
      isolation: info?.isolation ?? entry.isolation ?? (/^https?:/i.test(entry.source) ? 'remote' : 'process'),
      since: entry.enabled ? (info?.since ?? null) : null,
      source: shownSource(entry.source),
      reason: entry.enabled ? reasonOf(entry.name, running, info) : null,
    };
  });
  const others = (running?.cassettes ?? []).filter(({ name }) => !list.some((entry) => entry.name === name));
  const unlisted = others.map((info): Row => {
    const { name, state, since, isolation, version = null } = info;
    const why = reasonOf(name, running, info);
    return {
      name,
      state,
      version,
      isolation,
      since,
      source: null,
      reason: known ? (why ?? 'it is not on this list') : why,
    };
  });
  return [...wanted, ...unlisted].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function reasonOf(name: string, running: CassetteList | null, info: CassetteInfo | undefined): string | null {
  if (running && !info) return 'the service that runs does not have it yet, or reads another list';
  return running?.problems.find(({ subject }) => subject === name)?.reason ?? null;
}

const versionOf = ({ source }: ListEntry) => /^npm:.+@([^@/]+)$/.exec(source)?.[1] ?? null;

function page({ running, file, problem, remarks, cassettes }: Listing, now: number): string {
  const head = ['NAME', 'STATE', 'SINCE', 'VERSION', 'ISOLATION', 'SOURCE'];
  const cells = cassettes.map(({ name, state, since, version, isolation, source }) => [
    name,
    state ?? '-',
    since === null ? '-' : lasting((now - Date.parse(since)) / 1000),
    version ?? '-',
    isolation,
    source ?? '-',
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => plain(row[i] ?? '').length)));
  const line = (row: readonly string[], state: (text: string) => string = (text) => text) =>
    row
      .map((cell, i) => {
        const padded = plain(cell).padEnd(widths[i] ?? 0);
        return i === 1 ? state(padded) : padded;
      })
      .join('  ')
      .trimEnd();
  const table = cassettes.flatMap(({ state, reason }, i) => [
    line(cells[i] ?? [], COLOURS[state ?? ''] ?? pc.dim),
    ...(reason === null ? [] : [`  ${pc.yellow(plain(reason))}`]),
  ]);
  return [
    ...(problem === null ? [] : [pc.red(plain(problem)), '']),
    ...(cassettes.length > 0
      ? [pc.bold(line(head)), ...table]
      : ["There are no cassettes; 'svc cassette add' installs one"]),
    '',
    ...(running ? [] : remarks.length > 0 ? remarks.map((remark) => pc.yellow(plain(remark))) : [NOT_RUNNING]),
    ...(file === null ? [] : [`The list is ${file}`]),
    '',
  ].join('\n');
}

const NOT_RUNNING = 'svc is not running here, so what becomes of them is not known';

const COLOURS: Readonly<Record<string, (text: string) => string>> = {
  admitted: pc.green,
  stale: pc.yellow,
  pending: pc.yellow,
  rejected: pc.red,
  unresolved: pc.red,
};
