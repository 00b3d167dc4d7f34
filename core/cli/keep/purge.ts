/** `svc purge`: removes sessions for good, by id, project or time; their tombstones stay. */
import type { LoadedConfig } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { jsonText } from '../print-response.ts';
import { terminalProgress } from '../progress.ts';
import { sessionOf } from '../record/session-of.ts';
import { instantOf } from '../record/time-option.ts';
import { counted, plain, several, sized } from '../units.ts';
import { confirmRemoval } from './confirm-removal.ts';
import { purgeSessions, type SessionPurged } from './purge-sessions.ts';

export type PurgeOptions = {
  sessions: readonly string[];
  project: string | null;
  /** Of sessions that were last seen before, and of those that began then or later. */
  before: string | null;
  after: string | null;
  reason: string | null;
  dryRun: boolean;
  yes: boolean;
  json: boolean;
};

type Listed = {
  session_id: string;
  title: string | null;
  project: string;
  last_seen_at: string;
  raw_turns: number;
  deleted: boolean;
};

const SHOWN = 20;

/** @throws {OperatorError} */
export async function purge(
  loaded: LoadedConfig,
  options: PurgeOptions,
  io: Pick<Io, 'out' | 'err' | 'home' | 'isTerminal'>,
): Promise<void> {
  refuseWrongUse(options);
  const { json, dryRun, yes, reason } = options;
  const filter = filterOf(options);
  const client = await openApiClient(loaded);
  const listed = await selected(client, { sessions: options.sessions, filter }, io.home);
  const turns = listed.reduce((sum, { raw_turns }) => sum + raw_turns, 0);
  const all = `${several(listed.length, 'session')} with ${several(turns, 'turn')}`;
  if (dryRun) {
    io.out(json ? jsonText({ sessions: listed }, io) : `${table(listed, listed.length)}Would remove ${all}\n`);
    return;
  }
  if (listed.length === 0) {
    io.out(json ? `${JSON.stringify({ sessions: [] })}\n` : 'Nothing to remove\n');
    return;
  }
  if (!yes) io.err(table(listed, SHOWN));
  await confirmRemoval(`Remove ${all} for good?`, { yes, what: 'purge' });
  const progress = terminalProgress(io.err);
  const ids = listed.map(({ session_id }) => session_id);
  const purged = await purgeSessions(client, ids, { reason: reason ?? "'svc purge'", progress }).finally(
    progress.clear,
  );
  io.out(json ? jsonText({ sessions: purged }, io) : purgeSummary(purged));
}

function refuseWrongUse({ sessions, project, before, after }: PurgeOptions): void {
  const byFilter = project !== null || before !== null || after !== null;
  if (sessions.length === 0 && !byFilter)
    throw new OperatorError('Cannot purge everything: say what, with --session, --project, --before or --after', 2);
  if (sessions.length > 0 && byFilter)
    throw new OperatorError('Cannot purge by session and by project or time at once: use one of them', 2);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** As parameters of the read API. @throws {OperatorError} 2: a time is none */
const filterOf = ({ project, before, after }: PurgeOptions): Record<string, string> => ({
  ...(project !== null && { project }),
  ...(before !== null && { before: instantOf(before, { flag: '--before', what: 'purge' }) }),
  ...(after !== null && { since: instantOf(after, { flag: '--after', what: 'purge' }) }),
});

async function selected(
  client: ApiClient,
  { sessions, filter }: Pick<PurgeOptions, 'sessions'> & { filter: Record<string, string> },
  home: string,
): Promise<Listed[]> {
  if (sessions.length === 0) return listedBy(client, filter);
  const listed: Listed[] = [];
  const named = new Set<string>();
  for (const word of sessions) named.add(UUID.test(word) ? word.toLowerCase() : await sessionOf(word, client, home));
  for (const session_id of named) {
    const [one] = await listedBy(client, { session_id });
    if (!one) throw new OperatorError(`Cannot purge session '${session_id}': there is none, or nothing is left of it`);
    listed.push(one);
  }
  return listed;
}

async function listedBy(client: ApiClient, filter: Record<string, string>): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (let next: string | null = null, more = true; more; ) {
    const query = new URLSearchParams({ ...filter, ...(next !== null && { after: next }) });
    const page: { items: Listed[]; next: string | null } = await client.json({
      path: `/v1/admin/purge/sessions?${query}`,
      what: 'list the sessions to purge',
      timeoutMs: null,
    });
    listed.push(...page.items);
    next = page.next;
    more = next !== null;
  }
  return listed;
}

const table = (listed: readonly Listed[], most: number): string => {
  const lines = listed
    .slice(0, most)
    .map(
      ({ session_id, title, project, last_seen_at, raw_turns, deleted }) =>
        `${session_id}  ${last_seen_at.slice(0, 10)}  ${several(raw_turns, 'turn')}  ${plain(project)}  ${plain(title ?? '').slice(0, 60)}${deleted ? ' (deleted)' : ''}\n`,
    );
  return lines.join('') + (listed.length > most ? `… and ${counted(listed.length - most)} more\n` : '');
};

export function purgeSummary(purged: readonly SessionPurged[]): string {
  const sum = (of: (one: SessionPurged) => number) => purged.reduce((total, one) => total + of(one), 0);
  const made = purged.flatMap(({ made_of_it }) => made_of_it);
  const kept = made.filter(({ removed }) => !removed);
  const rewritten = purged.at(-1)?.rewritten ?? true;
  return [
    `Removed ${several(purged.length, 'session')}: ${several(
      sum(({ raw_turns }) => raw_turns),
      'turn',
    )}, ${several(
      sum(({ slices }) => slices),
      'slice',
    )} of ${sized(sum(({ bytes }) => bytes))}`,
    ...kept.map(
      ({ cassette, table: of, id, name }) =>
        `Not removed, since it was edited or may have been: ${plain(name || id)} (${plain(id)}) in ${plain(of)} of cassette ${plain(cassette)}`,
    ),
    ...(rewritten ? [] : ['The bytes stay in pages of the database until they are written over, as by a vacuum']),
    "The journal's newest part may hold it until the next start of svc; backups that were made before do",
    '',
  ].join('\n');
}
