/** Finds a harness's session in the record of a service that runs, by its read API. */
import { isObject } from '../../parse-json.ts';
import { bareGet } from './bare-get.ts';
import type { ReadApiPlace } from './read-api-places.ts';

export type RecordedSession = {
  /** null: none of its models has a known price. */
  cost_usd: number | null;
  tokens: number;
  /** Of the newest call; null: unknown. */
  context_tokens: number | null;
};

/** unknown: a service runs, and has no such session; down: there is none; late: what is there did not respond in time. */
export type SessionLookup = RecordedSession | 'unknown' | 'down' | 'late';

/** Asks one service after the other; the first that has the session counts. */
export async function findSession(id: string, places: readonly ReadApiPlace[]): Promise<SessionLookup> {
  let lookup: SessionLookup = 'down';
  for (const place of places) {
    const found = await sessionAt(id, place).catch(() => 'down' as const);
    if (typeof found === 'object') return found;
    if (found === 'unknown') lookup = found;
  }
  return lookup;
}

async function sessionAt(id: string, { address, token }: ReadApiPlace): Promise<SessionLookup> {
  // The token is sent to a read API alone: another program on its port must not learn it.
  if (token !== '' && (await bareGet({ address, path: '/ping' })) !== 'pong') return 'down';
  const path = `/v1/browse/sessions?limit=1&harness_session_id=${encodeURIComponent(id)}`;
  const page = await bareGet({ address, path, token });
  if (!isObject(page) || !Array.isArray(page.items)) return 'down';
  const session: unknown = page.items[0];
  // A service that passes over a filter that it does not know has another session here.
  return (isObject(session) && session.harness_session_id === id && figures(session)) || 'unknown';
}

function figures({ rollup }: Record<string, unknown>): RecordedSession | null {
  if (!isObject(rollup) || !isObject(rollup.usage)) return null;
  const { input_tokens, output_tokens, cost_usd } = rollup.usage;
  const last: unknown = Array.isArray(rollup.shape) ? rollup.shape.at(-1) : null;
  return {
    cost_usd: typeof cost_usd === 'number' ? cost_usd : null,
    tokens: Number(input_tokens) + Number(output_tokens),
    context_tokens: typeof last === 'number' ? last : null,
  };
}
