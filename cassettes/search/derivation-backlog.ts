/** Embedding waits for a backlog of derivation, which takes the same cores: what is not derived yet cannot be read at all. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../../core/cassette/contract.ts';
import type { SearchConfig } from './manifest.ts';
import { databaseOf, explained, relationsOf } from './relations.ts';

/** With fewer sessions to derive embedding goes on: a few agents at work leave as many, for a moment each. */
export const BACKLOG_SESSIONS = 20;

const LOOK_MS = 1_000;
/** A backlog that does not end leaves embedding a batch so often. */
const MOST_MS = 30_000;

const TO_DERIVE = 'select sessions_to_derive from svc_v1.session_changes limit 1';

export async function hasBacklog(env: Env<SearchConfig>): Promise<boolean> {
  const { rows } = await databaseOf(env)
    .query<{ sessions_to_derive: number }>(TO_DERIVE)
    .catch((error: unknown) => {
      throw explained(error, relationsOf(env.CONFIG));
    });
  const [{ sessions_to_derive } = { sessions_to_derive: 0 }] = rows; // no row: nothing has been derived ever
  return sessions_to_derive >= BACKLOG_SESSIONS;
}

/** Resolves once there is no backlog, after `mostMs`, or at the signal. */
export async function backlogPassed(
  env: Env<SearchConfig>,
  signal: AbortSignal,
  { lookMs = LOOK_MS, mostMs = MOST_MS }: { lookMs?: number; mostMs?: number } = {},
): Promise<void> {
  const until = performance.now() + mostMs;
  while (!signal.aborted && (await hasBacklog(env)) && performance.now() < until)
    await sleep(lookMs, undefined, { signal }).catch(() => undefined);
}
