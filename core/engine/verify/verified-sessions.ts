/** Verifies the sessions of a database one after the other. */
import { type SessionVerified, type Verifier, verifySession } from './verify-session.ts';

const SESSIONS_AT_ONCE = 200;

/** @param session null: all of them, deleted ones too; one that is not there yields nothing. @param head see `verifySession` */
export async function* verifiedSessions(
  verifier: Verifier,
  { session, head }: { session: string | null; head: string | null },
): AsyncGenerator<SessionVerified, void> {
  for await (const session_id of session === null ? sessionsIn(verifier) : [session]) {
    const verified = await verifySession(verifier, session_id, head);
    if (verified) yield verified; // else it was removed since the list was read
  }
}

async function* sessionsIn({ database }: Verifier): AsyncGenerator<string, void> {
  for (let after: string | null = null, more = true; more; ) {
    const page: string[] = await database.execute('sessionIds', { after, limit: SESSIONS_AT_ONCE });
    yield* page;
    after = page.at(-1) ?? null;
    more = page.length === SESSIONS_AT_ONCE;
  }
}
