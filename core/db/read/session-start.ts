/** A session at one moment: its rollup with the first pages of its traces, spans and links, from one snapshot. */
import type { Payload } from '../../model/page.ts';
import type { SessionRecord } from '../../model/session.ts';
import type { Sql } from '../sql.ts';
import { atOneMoment } from './at-one-moment.ts';
import { readSession } from './read-session.ts';
import { linksOf, sessionTraces, spansOf } from './session-traces.ts';

/** `firstSpans`: how many are read at first where one page does not hold all, so that a reader soon has something. */
type StartRequest = {
  session_id: string;
  payload: Payload;
  limits: Record<'traces' | 'spans' | 'firstSpans' | 'links', number>;
};

type SessionStart = {
  session: SessionRecord;
  traces: Awaited<ReturnType<typeof sessionTraces>>;
  spans: Awaited<ReturnType<typeof spansOf>>;
  links: Awaited<ReturnType<typeof linksOf>> | null; // null: the others have further pages, which come first
};

/**
 * Null when there is no such session, or it is deleted. Later pages are queried one by one, so that no transaction stays open while a
 * reader reads: those of a longer session show what has been derived by then.
 */
export const sessionStart = (db: Sql, { session_id, payload, limits }: StartRequest): Promise<SessionStart | null> =>
  atOneMoment(db, async (tx) => {
    const session = await readSession(tx, { session_id });
    if (!session) return null;
    const of = { session_id };
    const traces = await sessionTraces(tx, { session_id, after: null, limit: limits.traces });
    const count = traces.traces.reduce((sum, { span_count }) => sum + span_count, 0);
    const isShort = traces.next === null && count <= limits.spans;
    const limit = isShort ? limits.spans : limits.firstSpans;
    const spans = await spansOf(tx, { of, after: null, limit, payload });
    const isWhole = traces.next === null && spans.next === null;
    return {
      session,
      traces,
      spans,
      links: isWhole ? await linksOf(tx, { of, after: null, limit: limits.links }) : null,
    };
  });
