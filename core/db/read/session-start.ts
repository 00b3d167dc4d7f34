/** What is a session at one moment? Its rollup with the first pages of its traces, spans and links, as one snapshot has them. */
import type { Payload } from '../../model/page.ts';
import type { SessionRecord } from '../../model/session.ts';
import type { Sql } from '../sql.ts';
import { readSession } from './read-session.ts';
import { linksOf, sessionTraces, spansOf } from './session-traces.ts';

type Wanted = { session_id: string; payload: Payload; limits: Record<'traces' | 'spans' | 'links', number> };

type SessionStart = {
  session: SessionRecord;
  traces: Awaited<ReturnType<typeof sessionTraces>>;
  spans: Awaited<ReturnType<typeof spansOf>>;
  links: Awaited<ReturnType<typeof linksOf>> | null; // null: later pages of the others come first
};

/**
 * Null when there is no such session, or somebody deleted it. Pages after these are asked for one by one, so that no transaction
 * stays open while a reader reads: of a longer session they tell what has been derived by then.
 */
export const sessionStart = (db: Sql, { session_id, payload, limits }: Wanted): Promise<SessionStart | null> =>
  db.transaction(async (tx) => {
    await tx.script('set transaction isolation level repeatable read, read only');
    const session = await readSession(tx, { session_id });
    if (!session) return null;
    const of = { session_id };
    const traces = await sessionTraces(tx, { session_id, after: null, limit: limits.traces });
    const spans = await spansOf(tx, { of, after: null, limit: limits.spans, payload });
    const isWhole = traces.next === null && spans.next === null;
    return {
      session,
      traces,
      spans,
      links: isWhole ? await linksOf(tx, { of, after: null, limit: limits.links }) : null,
    };
  });
