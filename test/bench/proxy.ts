/** What does the proxy add, with capture on? Time to first byte at a fixed rate, streams, and throughput beside its neighbours. */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { buildService } from '../support/built-service.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { emptyFolder, removeFolder, startProxyAlone, startService } from '../support/serve.ts';
import { bounded, heading, median, ms, percentiles, perSecond, row } from './figures.ts';
import { startNeighbours, startUpstream } from './peers.ts';
import { atFixedRate, type Route } from './proxy-rate.ts';
import { type Streamed, streamsHeading, streamThrough } from './proxy-streams.ts';
import { throughput } from './proxy-throughput.ts';

const ROUNDS = 10; // of a second each, in turn, so that a busy moment of the machine is everybody's
const STREAM_ROUNDS = 10; // the slowest hundredth of the gaps differs by milliseconds from round to round, without a proxy too
const ADDED_GAP_MS = 2; // in the slowest hundredth
const path = '/v1/chat/completions';

type Measured = Route & { pid: number };

/** The closing table: a line for each route, a column for each measure. */
type Table = Map<string, Record<string, string>>;
type Note = (route: Route, column: string, figure: string) => void;

/** @param names of groups: `first`, `streams`, `throughput`; none: all of them */
export async function benchProxy(names: readonly string[] = []): Promise<void> {
  const isWanted = (name: string) => names.length === 0 || names.includes(name);
  const undo: (() => Promise<unknown>)[] = [];
  const table: Table = new Map();
  const note: Note = ({ name }, column, figure) => table.set(name, { ...table.get(name), [column]: figure });
  try {
    const upstream = await startUpstream();
    undo.unshift(upstream.stop);
    const neighbours = await startNeighbours(upstream.url);
    for (const { stop } of neighbours) undo.unshift(stop);
    const service = await startOurs(startService, { SVC_PROXY_UPSTREAMS_OPENAI: upstream.url }, undo);
    const ours = { name: 'svc, capture on', url: `${service.proxy}/openai${path}`, pid: service.processes().proxy };
    const routes = [...[upstream, ...neighbours].map((peer) => ({ ...peer, url: `${peer.url}${path}` })), ours];
    const busy = loadavg()[0] ?? 0;

    if (isWanted('first')) {
      await firstBytes(routes, { what: 'small', bytes: 100, stream: false, rate: 500 }, note);
      await firstBytes(routes, { what: '190 KB, streamed', bytes: 190_000, stream: true, rate: 100 }, note);
    }
    if (isWanted('streams')) await streams([...routes, ...(await oursOnServer(upstream.url, undo))], note);
    if (isWanted('throughput')) {
      const { rates, captured } = await throughput({ routes, ours, api: service.api, body: bodyOf(100) });
      for (const [route, rate] of rates) note(route, 'requests', perSecond(rate));
      note(ours, 'captured', captured);
    }
    printTable(table, busy);
  } finally {
    for (const step of undo) await step();
  }
}

type Started = { stop(): Promise<unknown> };

/** As it is installed: compiled, in a folder of its own. */
async function startOurs<T extends Started>(
  start: (folder: string, env: Record<string, string>, program: readonly string[]) => Promise<T>,
  env: Record<string, string>,
  undo: (() => Promise<unknown>)[],
): Promise<T> {
  const folder = await emptyFolder();
  undo.unshift(() => removeFolder(folder));
  const program = [await buildService(join(folder, 'built'))];
  const service = await start(folder, { SVC_LOG_LEVEL: 'warn', ...env }, program);
  undo.unshift(service.stop);
  return service;
}

/** The proxy by itself, for its memory: without the database's, and without what else runs in one process with it. */
async function oursOnServer(upstream: string, undo: (() => Promise<unknown>)[]): Promise<Measured[]> {
  const cluster = process.env.SVC_TEST_DSN;
  if (!cluster) return [];
  const { dsn, drop } = await emptyServerDatabase(cluster);
  undo.unshift(drop);
  const env = { SVC_PROXY_UPSTREAMS_OPENAI: upstream, SVC_STORAGE_POSTGRES_DSN: dsn };
  const { proxy, processes } = await startOurs(startProxyAlone, env, undo);
  return [{ name: 'svc serve proxy, PostgreSQL', url: `${proxy}/openai${path}`, pid: processes().proxy }];
}

async function firstBytes(
  routes: readonly Route[],
  { what, bytes, stream, rate }: { what: string; bytes: number; stream: boolean; rate: number },
  note: Note,
): Promise<void> {
  heading(`Time to first byte, 1 connection, ${rate}/s, requests: ${what}`);
  const body = bodyOf(bytes, stream);
  const samples = routes.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, route] of routes.entries()) samples[i]?.push(...(await atFixedRate(route, body, rate, 1)));
  const direct = percentiles(samples[0] ?? []);
  row('', 'p50', 'p99', 'added p50', 'added p99');
  for (const [i, route] of routes.entries()) {
    const { p50, p99 } = percentiles(samples[i] ?? []);
    row(route.name, ms(p50), ms(p99), ms(p50 - direct.p50), ms(p99 - direct.p99));
    note(route, `first byte, ${what}`, added(i, { p50, p99 }, direct));
  }
}

async function streams(routes: readonly Measured[], note: Note): Promise<void> {
  heading(streamsHeading);
  row('', 'frames equal', 'gap p50', 'gap p99', 'added p50', 'added p99', 'memory');
  const all = routes.map((): Streamed[] => []);
  for (let round = 0; round < STREAM_ROUNDS; round++)
    for (const [i, route] of routes.entries()) all[i]?.push(await streamThrough(route, route.pid));
  const sum = (each: readonly Streamed[], of: (one: Streamed) => number) => each.reduce((so, one) => so + of(one), 0);
  const gapsOf = (each: readonly Streamed[] = []) => percentiles(each.flatMap(({ gaps }) => gaps));
  const direct = gapsOf(all[0]);
  for (const [i, route] of routes.entries()) {
    const each = all[i] ?? [];
    const { p50, p99 } = gapsOf(each);
    const equal = sum(each, (one) => one.equal);
    const frames = sum(each, (one) => one.frames);
    const memory = `${Math.max(...each.map(({ rssMb }) => rssMb)).toFixed(0)} MB`;
    row(route.name, `${equal}/${frames}`, ms(p50), ms(p99), ms(p50 - direct.p50), ms(p99 - direct.p99), memory);
    note(route, 'gap', added(i, { p50, p99 }, direct));
    note(route, 'frames equal', equal === frames ? 'all' : `${equal} of ${frames}`);
    if (i > 0) note(route, 'memory', memory);
  }
  printGapBars(routes, all);
}

/** Within a round a busy moment of the machine is in neither or in both, so each is compared with the direct way of the same round. */
function printGapBars(routes: readonly Measured[], all: readonly Streamed[][]): void {
  const p99s = all.map((each) => each.map(({ gaps }) => percentiles(gaps).p99));
  const [direct = []] = p99s;
  const spread = Math.max(...direct) - Math.min(...direct);
  row('spread of the gap p99 of direct over the rounds', ms(spread));
  for (const [i, { name }] of routes.entries()) {
    const added = median((p99s[i] ?? []).map((p99, round) => p99 - (direct[round] ?? 0)));
    if (i > 0) bounded(`${name}: added gap p99, median of the rounds`, added, Math.max(ADDED_GAP_MS, spread), ms);
  }
}

/** What came on top of the direct way; of that itself, in brackets, what it took. */
const added = (i: number, { p50, p99 }: Percentiles, direct: Percentiles) =>
  i === 0 ? `(${ms(p50)} / ${ms(p99)})` : `${ms(p50 - direct.p50)} / ${ms(p99 - direct.p99)}`;
type Percentiles = Pick<ReturnType<typeof percentiles>, 'p50' | 'p99'>;

/** As Markdown: `added p50 / p99`, but for the direct way, in brackets. */
function printTable(table: Table, busy: number): void {
  const columns = [...new Set([...table.values()].flatMap((figures) => Object.keys(figures)))];
  heading(`Added p50 / p99 over direct (load average before: ${busy.toFixed(1)})\n`);
  console.log(`| | ${columns.join(' | ')} |`);
  console.log(`| --- |${' --- |'.repeat(columns.length)}`);
  for (const [name, figures] of table)
    console.log(`| ${name} | ${columns.map((column) => figures[column] ?? '').join(' | ')} |`);
}

const bodyOf = (bytes: number, stream = false) => {
  const messages = [{ role: 'user', content: 'x'.repeat(Math.max(1, bytes - 90)) }];
  return JSON.stringify({ model: 'gpt-4o-mini', stream, messages });
};
