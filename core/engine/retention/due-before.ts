/** The instants before which the rules of retention remove, at a given time. */
import type { DueBefore, DueSession } from '../../db/retention/due-sessions.ts';
import type { RetentionRules } from '../../model/retention.ts';

/** The settings by which something goes, as its tombstones name them. */
export const BY_DAYS = 'retention.days';
export const BY_PROJECT = 'retention.projects';
export const BY_SIZE = 'retention.max_bytes';

/** The sessions with the setting by which each goes: `reason`, unless its project has days of its own. */
export const withReasons = (sessions: readonly DueSession[], reason: string): (DueSession & { reason: string })[] =>
  sessions.map((due) => ({ ...due, reason: due.own_limit ? BY_PROJECT : reason }));

const DAY_MS = 86_400_000;

/** A session that was seen later goes on: it is not removed for its size. */
const GOES_ON_MS = 3_600_000;

/** Of sessions that are too old. @param now milliseconds since 1970 */
export const tooOld = ({ days, projects }: RetentionRules, now: number): DueBefore => ({
  before: days === null ? null : daysAgo(now, days),
  projects: [...projects].flatMap(([project, own]) => (own === null ? [] : { project, before: daysAgo(now, own) })),
  never: neverDue(projects),
});

/** Of sessions that are removed, the oldest first, while the database is too large. */
export const forSize = ({ projects }: RetentionRules, now: number): DueBefore => ({
  before: new Date(now - GOES_ON_MS).toISOString(),
  projects: [],
  never: neverDue(projects),
});

/** The instant before which turns that were set aside are too old; they name no project. Null: they stay. */
export const parkedTooOld = ({ days }: RetentionRules, now: number): string | null =>
  days === null ? null : daysAgo(now, days);

const daysAgo = (now: number, days: number) => new Date(now - days * DAY_MS).toISOString();

const neverDue = (projects: RetentionRules['projects']) =>
  [...projects].flatMap(([project, days]) => (days === null ? project : []));
