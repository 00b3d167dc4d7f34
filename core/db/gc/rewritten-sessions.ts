/** Sessions whose nodes were rewritten while slices are being collected: what those nodes name is looked at again before it is deleted. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** Call it within a transaction that holds the slices and gives turns of the session other nodes than their intake did. */
export const recordRewritten = (tx: Sql, session_id: string): Promise<unknown> =>
  tx.rows(sql`
    insert into svc.rewritten_sessions (session_id) select ${session_id}::uuid from svc.installation where collecting
    on conflict do nothing`);
