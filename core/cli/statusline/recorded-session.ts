/** Finds a harness's session in the record of a service that runs, by its read API. */
import * as http from 'node:http';
import { isObject, parseJson } from '../../parse-json.ts';
import type { ReadApiPlace } from './read-api-places.ts';

export type RecordedSession = {
  /** null: none of its models has a known price. */
  cost_usd: number | null;
  tokens: number;
  /** Of the newest call; null: unknown. */
  context_tokens: number | null;
};

/** unknown: a service runs, and has no such session; down: none answers in time. */
export type Finding = RecordedSession | 'unknown' | 'down';

const MOST_BYTES = 1_048_576;

/** Asks one service after the other; the first that has the session counts. */
export async function findSession(id: string, places: readonly ReadApiPlace[], signal: AbortSignal): Promise<Finding> {
  let finding: Finding = 'down';
  for (const place of places) {
    const found = await sessionAt(id, place, signal).catch(() => 'down' as const);
    if (typeof found === 'object') return found;
    if (found === 'unknown') finding = found;
  }
  return finding;
}

async function sessionAt(id: string, place: ReadApiPlace, signal: AbortSignal): Promise<Finding> {
  const get = await client(place, signal);
  // The token is sent to a read API alone: another program on its port must not learn it.
  if (place.token !== '' && (await get('/ping', '')) !== 'pong') return 'down';
  const places = await get(`/v1/whereis/${encodeURIComponent(id)}`, place.token);
  if (!isObject(places) || !Array.isArray(places.items)) return 'down';
  const items: unknown[] = places.items;
  const session = items.find((item) => isObject(item) && item.kind === 'harness_session');
  if (!isObject(session)) return 'unknown';
  return figures(await get(`/v1/sessions/${String(session.session_id)}`, place.token)) ?? 'unknown';
}

function figures(answer: unknown): RecordedSession | null {
  const session = isObject(answer) ? answer.session : null;
  const rollup = isObject(session) ? session.rollup : null;
  if (!isObject(rollup) || !isObject(rollup.usage)) return null;
  const { input_tokens, output_tokens, cost_usd } = rollup.usage;
  const last: unknown = Array.isArray(rollup.shape) ? rollup.shape.at(-1) : null;
  return {
    cost_usd: typeof cost_usd === 'number' ? cost_usd : null,
    tokens: Number(input_tokens) + Number(output_tokens),
    context_tokens: typeof last === 'number' ? last : null,
  };
}

/** Requests over one connection; undefined: the answer is no JSON, or a refusal. */
async function client({ address }: ReadApiPlace, signal: AbortSignal) {
  const base = address.replace(/\/+$/, '');
  const { Agent, request } = base.startsWith('https:') ? await import('node:https') : http;
  const agent = new Agent({ keepAlive: true });
  signal.addEventListener('abort', () => agent.destroy());
  return (path: string, token: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
      const outgoing = request(base + path, { agent, headers, signal }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > MOST_BYTES) outgoing.destroy(new Error('too long'));
        });
        response.on('end', () => resolve(response.statusCode === 200 ? parseJson(body) : undefined));
        response.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
}
