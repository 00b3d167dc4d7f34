/** Purges sessions through the read API, one after the other. */
import { OperatorError } from '../../errors.ts';
import type { ApiClient } from '../api-client.ts';
import type { ProgressLine } from '../progress.ts';
import { counted, several } from '../units.ts';

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

/**
 * Files are written anew after the last one alone, since that takes long.
 * @throws {OperatorError} one is refused, or the service has ended; the message says how many are gone by then
 */
export async function purgeSessions(
  client: ApiClient,
  session_ids: readonly string[],
  { reason, progress }: { reason: string; progress: ProgressLine },
): Promise<SessionPurged[]> {
  const purged: SessionPurged[] = [];
  for (const [i, id] of session_ids.entries()) {
    progress.show('purged', i, session_ids.length);
    const request = {
      method: 'POST',
      path: `/v1/admin/sessions/${id}/purge`,
      body: { reason, sweep: i === session_ids.length - 1 },
      what: `purge session '${id}'`,
      timeoutMs: null,
    };
    const one = await client.json<SessionPurged>(request).catch((error: unknown) => {
      throw session_ids.length > 1 ? withProgress(error, purged.length, session_ids.length) : error;
    });
    purged.push(one);
  }
  return purged;
}

/** What is purged stays so: to purge again takes the others. */
function withProgress(error: unknown, done: number, total: number): unknown {
  if (!(error instanceof OperatorError)) return error;
  const far = `${counted(done)} of ${several(total, 'session')} ${done === 1 ? 'is' : 'are'} purged already`;
  return new OperatorError(`${error.message}; ${far}`, error.exitCode, { cause: error });
}
