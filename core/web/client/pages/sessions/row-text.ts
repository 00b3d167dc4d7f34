/** The words of a session's row: its state, its counts, and why a cost is not known. */
import type { Session } from '../../../../model/session.ts';
import { grouped } from '../../parts/number-text.ts';

export type RowStatus = Session['rollup']['status'] | 'live';

const LIVE_MS = 5 * 60_000;

/**
 * A session that is live has no ending yet, whatever its last call says. That it no longer is, no event reports.
 * @param now milliseconds since 1970
 */
export const statusOf = ({ live, last_seen_at, rollup }: Session, now: number): RowStatus =>
  live && now - Date.parse(last_seen_at) <= LIVE_MS ? 'live' : rollup.status;

/** '1 call', '2 calls'. */
export const count = (number: number, one: string, many = `${one}s`): string =>
  `${grouped(number)} ${number === 1 ? one : many}`;

/** LLM calls, those beside the conversation included. */
export const callsOf = ({ rollup }: Session): number =>
  Object.values(rollup.kind_counts).reduce((sum, calls) => sum + calls, 0);

/** '12 prompts · 120 calls': what the wire calls traces are prompts on screen. */
export const sizeText = (session: Session): string =>
  `${count(session.rollup.turn_count, 'prompt')} · ${count(callsOf(session), 'call')}`;

export type RowMark = { name: 'starred' | 'errors' | 'children' | 'forks' | 'inherited' | 'compactions'; text: string };

/** What a reader looks for at a glance, worst first. */
export function marksOf({ rollup, starred, children, forks }: Session): RowMark[] {
  const compactions = rollup.kind_counts['offshoot:compaction'] ?? 0;
  const errors = Math.max(rollup.error_count, rollup.tool_error_count);
  const marks: [RowMark['name'], number | undefined, string][] = [
    ['starred', starred ? 1 : 0, '★ starred'],
    ['errors', errors, count(errors, 'error')],
    ['compactions', compactions, count(compactions, 'compaction')],
    ['children', children, `started ${count(children ?? 0, 'session')}`],
    ['forks', forks, count(forks ?? 0, 'fork')],
    ['inherited', rollup.inherited_calls, `${count(rollup.inherited_calls ?? 0, 'call')} of another session`],
  ];
  return marks.flatMap(([name, number, text]) => (number ? [{ name, text }] : []));
}

/** Who made the calls, and for what. */
export const whoText = ({ agent_name, harness_id, project, cwd }: Session): string =>
  [agent_name ?? (harness_id === 'unknown' ? '' : harness_id), project ?? lastFolder(cwd)]
    .filter((word) => word !== '')
    .join(' · ');

const lastFolder = (cwd = ''): string => cwd.split(/[\\/]/).findLast((folder) => folder !== '') ?? '';

/** Why the cost is not known, or is only a part; null: it is whole. */
export function costReason(session: Session): string | null {
  const { usage, error_count } = session.rollup;
  const { cost_usd, unpriced_models } = usage;
  if (unpriced_models.length > 0) {
    const models = unpriced_models.join(', ');
    return cost_usd === null ? `no price is known for ${models}` : `more than this: no price is known for ${models}`;
  }
  if (cost_usd !== null) return null;
  const calls = callsOf(session);
  if (calls === 0) return 'no call yet';
  return error_count < calls ? 'no answer states its usage' : 'no call was answered';
}

/** From the first call to the last, in microseconds. */
export const elapsedUs = ({ started_at, last_seen_at }: Session): number =>
  (Date.parse(last_seen_at) - Date.parse(started_at)) * 1000;
