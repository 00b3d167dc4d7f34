/** The page of `svc status`: what is up, what is wrong and what to do about it, then the figures, then the settings. */
import pc from 'picocolors';
import type { CassetteList } from '../model/cassette.ts';
import type { Outcome } from '../model/coverage.ts';
import type { ParkedSession, ProcessState, Status } from '../model/status.ts';
import { budgetLines } from './budget-lines.ts';
import type { ChangedSetting } from './changed-settings.ts';
import { removalsLines } from './removals-lines.ts';
import { counted, lasting, plain, several, sized } from './units.ts';

/** foreign: another program answers; silent: connected, and no response in time; unknown: the address is not known. */
export type ListenerState = 'up' | 'down' | 'foreign' | 'silent' | 'untrusted' | 'unserved' | 'unknown';
export type ListenerStatus = { address: string | null; state: ListenerState };

export type StatusReport = {
  version: string; // of this command
  listeners: { proxy: ListenerStatus; api: ListenerStatus; ingest: ListenerStatus };
  folder: { service: string; own: string } | null; // the `.svc` of the running service, where it is not this command's own
  data: string; // where the turns lie, without credentials
  journal_bytes: number | null; // on this machine's disk; null: it may not be read
  journal_max_bytes: number;
  status: Status | null; // null: the read API is down, or refuses
  cassettes: CassetteList | null; // null: as above
  processes: readonly ProcessState[]; // those that the service consists of; none: an older one, or none runs here
  remarks: string[]; // further remarks for an operator
  settings: ChangedSetting[]; // of the service where it shows them, else of this command
};

/** @param now milliseconds since 1970 */
export function statusPage(report: StatusReport, now: number): string {
  const { listeners, status, cassettes, remarks, settings, folder, data } = report;
  const { proxy, api, ingest } = listeners;
  return [
    heading(report),
    '',
    row('capture proxy', listener(proxy, proxy.state === 'up' ? 'takes connections' : null)),
    row('read API', listener(api, status && `up for ${lasting(status.uptime_seconds)}`)),
    row('ingest API', listener(ingest, null)),
    ...(folder ? [row('folder', `${plain(folder.service)}, not ${plain(folder.own)}`)] : []),
    row('data', plain(data)),
    row('journal', journal(report)),
    ...processLines(report.processes, now),
    ...remarks.flatMap((remark) => ['', pc.yellow(plain(remark))]),
    ...(status ? figures(status, now) : []),
    ...(cassettes ? cassetteLines(cassettes, now) : []),
    '',
    ...configuration(settings),
    '',
  ].join('\n');
}

const row = (name: string, value: string) => `  ${pc.cyan(name.padEnd(15))} ${value}`;

function heading({ version, listeners, status }: StatusReport): string {
  const { proxy, api, ingest } = listeners;
  if (status) return `${pc.bold(`svc ${plain(status.version)}`)} is running`;
  if (api.state === 'up') return `${pc.bold('svc')} is running, and does not tell its status`;
  if (api.state === 'unknown') return `${pc.bold(`svc ${version}`)}: whether it is running is not known`;
  const others = proxy.state === 'up' || ingest.state === 'up';
  return `${pc.bold(`svc ${version}`)}: ${others ? 'the read API is ' : ''}${pc.red('not running')}`;
}

const STATE: Record<ListenerState, string> = {
  up: pc.green('up'),
  down: pc.red('down: nobody listens there'),
  foreign: pc.red('another program answers there, which is not svc'),
  silent: pc.red('takes connections, and does not answer'),
  untrusted: pc.red('takes connections, and no trusted TLS'),
  unserved: pc.red('down: the service is tried again within a minute'),
  unknown: 'on a port that the system chose',
};

const listener = ({ address, state }: ListenerStatus, up: string | null) =>
  `${(address ?? '').padEnd(address === null ? 0 : 23)}${address === null ? '' : ' '}${state === 'up' && up ? pc.green(up) : STATE[state]}`;

/** A line for each process that has ended by itself, or does not serve. */
function processLines(processes: readonly ProcessState[], now: number): string[] {
  return processes.flatMap(({ name, state, restarts, last_end }) => {
    if (restarts === 0 && state !== 'down') return [];
    const ended = last_end ? `, the last time ${ago(last_end.at, now)}: ${plain(last_end.reason)}` : '';
    const text = `${state}, started again ${several(restarts, 'time')}${ended}`;
    const lines = [row(name, state === 'up' ? pc.yellow(text) : pc.red(text))];
    return state === 'down' && name === 'service' ? [...lines, row('', pc.red(WHILE_DOWN))] : lines;
  });
}

const WHILE_DOWN = 'calls pass meanwhile and wait in the journal; it is tried again each minute, and the log has more';

/** Waiting longer than this is shown; usually a call is in the database within about a second. */
const LATE_SECONDS = 10;

function journal({ status, journal_bytes, journal_max_bytes, processes }: StatusReport): string {
  const bytes = status?.journal?.bytes ?? journal_bytes;
  if (bytes === null) return 'cannot be read by this user';
  const size = `${sized(bytes)} on disk`;
  const when = processes.length > 0 ? 'by itself' : 'at the next start'; // one that runs waits for a database that is away
  if (!status) return bytes === 0 ? 'empty' : `${size}; what of it is not in the database yet comes there ${when}`;
  const full = bytes > journal_max_bytes / 2;
  const oldest = status.journal?.oldest_seconds ?? 0; // an older service does not have it
  return [
    `${size}, of at most ${sized(journal_max_bytes)}`,
    ...(full ? [pc.yellow('when it is full, turns are counted journal_full')] : []),
    ...(oldest > LATE_SECONDS ? [pc.yellow(`a call has waited for ${lasting(oldest)} to be stored`)] : []),
  ].join('; ');
}

function figures(status: Status, now: number): string[] {
  const { counts, database, derive, last_turn_at, parked_sessions, parked_turns } = status;
  const about = (name: Status['estimated'][number], noun: string) =>
    `${status.estimated.includes(name) ? 'about ' : ''}${several(counts[name], noun)}`;
  const last = last_turn_at === undefined ? '' : `, the last ${ago(last_turn_at, now)}`;
  return [
    '',
    'Recorded:',
    row('turns', `${several(counts.raw_turns, 'turn')} in ${several(counts.sessions, 'session')}${last}`),
    row('requests', coverage(status.coverage)),
    row('worked out', `${about('spans', 'span')} in ${about('traces', 'trace')}, ${about('nodes', 'node')}`),
    row('derivation', derivation(derive)),
    ...(status.find === undefined ? [] : [row('find', findIndex(status.find))]), // an older service does not have it
    row('slices', `${about('slices', 'distinct piece')} of bodies in ${sized(counts.slice_bytes)}`),
    row('database', `PostgreSQL ${plain(database.server_version)}, ${database.kind}, ${sized(database.bytes)} on disk`),
    ...(database.partitions === undefined ? [] : [row('partitions', partitions(database.partitions))]),
    ...(status.disk === undefined ? [] : [row('disk', disk(status.disk))]), // an older service does not have it
    ...removalsLines(status, now).map(([name, text]) => row(name, text)),
    ...budgetLines(status.budgets).map(([name, text]) => row(name, text)),
    row('extensions', extensions(database.extensions)),
    ...(status.publisher === undefined ? [] : [row('publishing', publishing(status.publisher))]),
    ...parkedSessions(parked_sessions, derive.parked, now),
    ...parkedTurns(parked_turns, now),
  ];
}

const findIndex = ({ spans, spans_indexed }: Status['find']): string =>
  spans_indexed < spans
    ? `${counted(spans_indexed)} of ${several(spans, 'span')} in the index of texts so far`
    : `all of ${several(spans, 'span')} in the index of texts`;

function publishing({ queued, published, failed, dropped, reason }: NonNullable<Status['publisher']>): string {
  const lost = [
    ...(failed > 0 ? [`${counted(failed)} failed`] : []),
    ...(dropped > 0 ? [`${counted(dropped)} dropped`] : []),
  ];
  const text = [
    `${several(published, 'node')} sent since the start`,
    ...(queued > 0 ? [`${counted(queued)} waiting`] : []),
    ...(lost.length > 0 ? [pc.yellow(lost.join(', '))] : []),
  ].join(', ');
  return reason === null ? text : `${text}; ${pc.yellow(`no broker takes them: ${plain(reason)}`)}`;
}

/** Fewer days are shown as a problem. */
const FEW_DAYS = 14;

function disk({ bytes, growth_bytes_per_day: growth, free_bytes, days_left }: Status['disk']): string {
  const growing =
    growth === undefined
      ? 'growth not known until a day was measured'
      : growth > 0
        ? `${sized(growth)} more each day`
        : 'not growing';
  const left = days_left === undefined ? '' : `, enough for ${several(Math.floor(days_left), 'day')}`;
  const free = free_bytes === undefined ? '' : `; ${sized(free_bytes)} free${left}`;
  const text = `${sized(bytes)} with all logs, ${growing}${free}`;
  return days_left !== undefined && days_left < FEW_DAYS ? pc.yellow(text) : text;
}

/** Outcomes that are shown as problems; the others are as they should be. */
const LOST: readonly Outcome[] = ['undecodable', 'over_limit', 'journal_full', 'poison', 'crashed'];

function coverage({ requests, outcomes }: Status['coverage']): string {
  const named = (Object.keys(outcomes) as Outcome[])
    .filter((outcome) => outcomes[outcome] > 0)
    .map((outcome) => {
      const text = `${counted(outcomes[outcome])} ${outcome}`;
      return LOST.includes(outcome) ? pc.yellow(text) : text;
    });
  return requests === 0 ? 'none came in' : `${counted(requests)} came in: ${named.join(', ')}`;
}

function derivation({ queued, lag_seconds, derive_version }: Status['derive']): string {
  const waiting =
    queued === 0
      ? 'nothing waits'
      : `${several(queued, 'session')} ${queued === 1 ? 'waits' : 'wait'}, the longest for ${lasting(lag_seconds)}`;
  return `${waiting}; rules of version ${derive_version}`;
}

function partitions(all: NonNullable<Status['database']['partitions']>): string {
  const oldest = all.find(({ bytes }) => bytes > 0);
  const since = oldest?.began_at === undefined ? 'from before the first' : `since ${day(oldest.began_at)}`;
  const current = all.at(-1)?.began_at;
  const leaving = all.filter((one) => one.leaving !== undefined);
  return [
    `${all.length}, the oldest ${since}${oldest ? ` (${sized(oldest.bytes)})` : ''}`,
    ...(current === undefined ? [] : [`the current one since ${day(current)}`]),
    ...leaving.map((one) => `one of ${sized(one.bytes)} is being dropped for ${plain(one.leaving ?? '')}`),
  ].join('; ');
}

const day = (instant: string) => instant.slice(0, 10);

function extensions(all: Status['database']['extensions']): string {
  const named = (installed: boolean) =>
    all.filter((one) => one.installed === installed).map(({ name, version }) => plain(`${name} ${version}`));
  const [used, available] = [named(true), named(false)];
  return [
    ...(used.length === 0 ? ['none'] : used),
    ...(available.length === 0 ? [] : [`not installed: ${available.join(', ')}`]),
  ].join('; ');
}

function parkedSessions(shown: readonly ParkedSession[], count: number, now: number): string[] {
  if (count === 0) return [];
  return [
    '',
    pc.yellow(`${several(count, 'session')} cannot be worked out:`),
    ...shown.map(({ session_id, harness_id, harness_session_id, error, attempts, parked_at }) => {
      const name = plain(`${harness_id}/${harness_session_id}`);
      return `  ${session_id}  ${plain(error)} in ${several(attempts, 'attempt')}, given up ${ago(parked_at, now)}  ${pc.dim(name)}`;
    }),
    ...more(count, shown.length),
    '  Their turns are safe, and readable at /v1/sessions/<id>/raw_turns. The log has "deriving failed" with the place in the code.',
    '  The next turn of such a session has it tried again; so has POST /v1/admin/derive/run with {"session_id": "<id>"}.',
  ];
}

function parkedTurns({ count, newest }: Status['parked_turns'], now: number): string[] {
  if (count === 0) return [];
  return [
    '',
    pc.yellow(`${several(count, 'turn')} could not be stored:`),
    ...newest.map(
      ({ svc_proxy_request_id, reason, parked_at, bytes }) =>
        `  ${plain(svc_proxy_request_id)}  ${plain(reason)}, ${ago(parked_at, now)}, ${sized(bytes)}`,
    ),
    ...more(count, newest.length),
    '  Their bytes are kept in svc.parked_turns; they are counted poison, and all others went on.',
  ];
}

/** Problems of cassettes, and the progress of their background work. */
function cassetteLines({ cassettes, problems }: CassetteList, now: number): string[] {
  const lines = cassettes.flatMap(({ name, state, progress, last_run }) =>
    [
      ...problems
        .filter(({ subject }) => subject === name)
        .map(({ reason }) => pc.yellow(`${state}: ${plain(reason)}`)),
      ...(progress ? [background(progress)] : []),
      ...(last_run?.error === undefined
        ? []
        : [pc.yellow(`its last run, ${ago(last_run.scheduled_at, now)}, failed: ${plain(last_run.error)}`)]),
    ].map((line) => row(plain(name), line)),
  );
  return lines.length === 0 ? [] : ['', 'Cassettes:', ...lines];
}

function background({ done, pending, failed }: NonNullable<CassetteList['cassettes'][number]['progress']>): string {
  const givenUp = `${counted(failed)} failed`;
  return `${counted(done)} done, ${counted(pending)} waiting, ${failed === 0 ? givenUp : pc.yellow(givenUp)}`;
}

const more = (count: number, shown: number) => (count > shown ? [`  and ${counted(count - shown)} before these`] : []);

const ago = (instant: string, now: number) => `${lasting((now - Date.parse(instant)) / 1000)} ago`;

function configuration(settings: readonly ChangedSetting[]): string[] {
  if (settings.length === 0) return ['Settings: all at their defaults'];
  const width = Math.max(...settings.map(({ key }) => key.length));
  const values = settings.map(({ value }) => plain(Array.isArray(value) ? value.join(',') : String(value)));
  const wide = Math.min(40, Math.max(...values.map((value) => value.length)));
  return [
    'Settings that are not at their defaults:',
    ...settings.map(
      ({ key, from }, i) => `  ${pc.cyan(key.padEnd(width))} ${(values[i] ?? '').padEnd(wide)}  ${pc.dim(plain(from))}`,
    ),
  ];
}
