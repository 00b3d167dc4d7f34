/** Purges sessions through the read API, one after the other. */
import type { ApiClient } from '../api-client.ts';
import type { ProgressLine } from '../progress.ts';

/** As the read API reports it. */
export type SessionPurged = {
  session_id: string;
  raw_turns: number;
  slices: number;
  slices_shared: number;
  bytes: number;
  made_of_it: { cassette: string; table: string; id: string; name: string; removed: boolean }[];
  rewritten: boolean;
};

/** Files are written anew after the last one alone, since that takes long. */
export async function purgeSessions(
  client: ApiClient,
  session_ids: readonly string[],
  { reason, progress }: { reason: string; progress: ProgressLine },
): Promise<SessionPurged[]> {
  const purged: SessionPurged[] = [];
  for (const [i, id] of session_ids.entries()) {
    progress.show('purged', i, session_ids.length);
    purged.push(
      await client.json<SessionPurged>({
        method: 'POST',
        path: `/v1/admin/sessions/${id}/purge`,
        body: { reason, sweep: i === session_ids.length - 1 },
        what: `purge session '${id}'`,
        timeoutMs: null,
      }),
    );
  }
  return purged;
}
