/** What a run of a harness has left in the record, as one line for a person. */
import { setTimeout as sleep } from 'node:timers/promises';
import pc from 'picocolors';
import type { Config } from '../../config/schema.ts';
import type { Session, SessionPage } from '../../model/session.ts';
import { isObject } from '../../parse-json.ts';
import { getJson } from '../get-json.ts';
import { readApiAt } from '../read-api.ts';
import { uiAddress } from '../ui-address.ts';
import { counted, plain, several } from '../units.ts';
import { type HarnessRun, RUN_MEMBER } from './envelope.ts';
import { isDerivedStatus, isStoredStatus } from './settled.ts';

/** For the last call to reach the database and to be derived. */
const WAIT_MS = 8_000;
const POLL_MS = 100;
/** The end of a call is reported a little later than the client sees it. */
const REPORT_MS = 500;
/** A service that has just started answers before it has read what the journal holds. */
const READ_MS = 2_000;
const REPLY_MS = 2_000;
const TITLE_LENGTH = 60;

/** `ofAll`: of all programs meanwhile, since nothing in a call says which one or which run made it. */
export type Recorded = { sessions: Session[]; settled: boolean; ofAll: boolean };
type RunQuery = {
  api: string;
  token: string;
  run: HarnessRun;
  hasEnvelope: boolean;
  harnessId: string | null;
  cwd: string;
};

/** The sessions of the run, or all of its time, the one seen last first; `settled`: nothing of it waits any more. Null: no service answers there, or as one. */
export async function recordedSessions({ api, token, ...run }: RunQuery): Promise<Recorded | null> {
  const get = async <T>(path: string) => {
    const reply = await getJson({ address: api, path, token, timeoutMs: REPLY_MS });
    return typeof reply === 'object' && reply.status === 200 ? (reply.body as T) : null;
  };
  const until = performance.now() + WAIT_MS;
  const isSettled = settlement(run.run.startedAt);
  let isKnown = false; // before that no token is sent
  for (;;) {
    await sleep(POLL_MS);
    if (!isKnown) {
      const at = await readApiAt(api, REPLY_MS);
      if (at === 'foreign' || (at === 'away' && performance.now() > until)) return null;
      isKnown = at === 'there';
      if (!isKnown) continue;
    }
    const sentAt = performance.now();
    const settled = isSettled(await get<unknown>('/v1/admin/status'), sentAt);
    if (!settled && performance.now() <= until) continue;
    const page = await get<unknown>('/v1/sessions?limit=50');
    if (!isSessionPage(page)) return null;
    const sessions = page.items.filter((session) => isOfRun(session, run));
    return { sessions, settled, ofAll: !run.hasEnvelope && isUncertain(run.harnessId, sessions) };
  }
}

/**
 * Whether what had ended by now is stored and derived, of each status that is read: on a service that others use something always
 * waits. Both must be so twice in a row, since a call may just be ending when the first is read.
 */
function settlement(startedAt: number): (status: unknown, sentAt: number) => boolean {
  const since = performance.now();
  let readFrom: number | null = null;
  let storedAt: number | null = null;
  let inARow = 0;
  return (status, sentAt) => {
    readFrom ??= beganAfter(status, startedAt) ? sentAt + READ_MS : null;
    if (sentAt < (readFrom ?? 0) || !isStoredStatus(status, (sentAt - since - REPORT_MS) / 1000)) {
      storedAt = null;
      inARow = 0;
      return false;
    }
    storedAt ??= sentAt;
    inARow = isDerivedStatus(status, (sentAt - storedAt) / 1000) ? inARow + 1 : 0;
    return inARow >= 2;
  };
}

const beganAfter = (status: unknown, instant: number): boolean =>
  isObject(status) && typeof status.uptime_seconds === 'number' && Date.now() - status.uptime_seconds * 1000 > instant;

/** Checks only what the line needs; the service may be of another version. */
const isSessionPage = (page: unknown): page is Pick<SessionPage, 'items'> =>
  isObject(page) && Array.isArray(page.items) && page.items.every(isSession);

const isSession = (session: unknown): boolean =>
  isObject(session) &&
  [session.id, session.display_title, session.last_seen_at].every((member) => typeof member === 'string') &&
  isObject(session.rollup) &&
  typeof session.rollup.turn_count === 'number' &&
  isUsage(session.rollup.usage);

const isUsage = (usage: unknown): boolean =>
  isObject(usage) &&
  [usage.input_tokens, usage.output_tokens].every((tokens) => typeof tokens === 'number') &&
  (usage.cost_usd === null || typeof usage.cost_usd === 'number') &&
  Array.isArray(usage.unpriced_models);

type OfRun = Omit<RunQuery, 'api' | 'token'>;

/** By the run's id where its calls carry it; else by harness, folder and time, which others may have in common with it. */
function isOfRun(session: Session, { run, hasEnvelope, harnessId, cwd }: OfRun): boolean {
  const labelled = session.harness_metadata?.[RUN_MEMBER];
  if (hasEnvelope || labelled !== undefined) return labelled === run.id;
  if (Date.parse(session.last_seen_at) < run.startedAt) return false;
  if (harnessId === null) return true;
  return [harnessId, 'unknown'].includes(session.harness_id) && (session.cwd === undefined || session.cwd === cwd);
}

/** Several of one harness may be of one run, or of two in the same folder at once. */
const isUncertain = (harnessId: string | null, sessions: readonly Session[]): boolean =>
  harnessId === null || rootsOf(sessions).length > 1;

/** Without those that others of them started. */
function rootsOf(sessions: readonly Session[]): Session[] {
  const ids = new Set(sessions.map(({ id }) => id));
  return sessions.filter(({ parent_session_id: parent }) => parent === undefined || !ids.has(parent));
}

/** The line, without its end. */
export function recordedLine(
  { sessions, settled, ofAll }: Recorded,
  api: string,
  config: Pick<Config['api'], 'web_ui' | 'base_path' | 'token'>,
): string {
  const [newest, ...others] = rootsOf(sessions);
  if (newest === undefined)
    return settled
      ? 'nothing to show: no call came through the proxy, or only to sessions that are deleted'
      : 'nothing is recorded yet';
  if (!settled && newest.rollup.turn_count === 0) return unfinishedLine(newest, others.length, ofAll);
  const { rollup } = newest;
  const { input_tokens, output_tokens, cost_usd, unpriced_models } = rollup.usage;
  const [ui] = (uiAddress(api, config, false) ?? '').split('#');
  return [
    recordedAs(newest, ofAll),
    titled(newest.display_title),
    several(rollup.turn_count, 'turn'),
    `${counted(input_tokens + output_tokens)} tokens`,
    costed(cost_usd, unpriced_models.length > 0),
    ...(settled ? [] : ['so far']),
    ...(ui ? [`${ui}sessions/${newest.id}`] : []),
    ...andOthers(others.length),
  ].join(pc.dim(' · '));
}

/** Without a figure: those of a session that is not derived to its end are zero, or too low. */
const unfinishedLine = (session: Session, others: number, ofAll: boolean): string =>
  [
    recordedAs(session, ofAll),
    `not worked out yet: 'svc sessions show ${session.id.slice(0, 8)}' shows it soon`,
    ...andOthers(others),
  ].join(pc.dim(' · '));

const recordedAs = ({ id }: Session, ofAll: boolean) =>
  `${pc.bold('recorded')} ${ofAll ? 'meanwhile, by any program: ' : ''}${id.slice(0, 8)}`;

const andOthers = (count: number): string[] =>
  count === 0 ? [] : [`and ${count === 1 ? 'one other' : `${counted(count)} others`}`];

function titled(title: string): string {
  const line = plain(title.replace(/\s+/g, ' ').trim());
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line;
}

const costed = (usd: number | null, isPartial: boolean) =>
  usd === null ? 'cost unknown' : `${isPartial ? 'at least ' : ''}$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
