/** The output of the demo: the conversation as it happens, what was recorded of it, and where to look. */
import { setTimeout } from 'node:timers/promises';
import pc from 'picocolors';
import { sessionId } from '../../call/identity.ts';
import type { Seeded } from '../../model/demo.ts';
import type { Session, SessionPage } from '../../model/session.ts';
import { CALLS, converse, QUESTION, TOOLS } from './conversation.ts';

type Shown = {
  version: string;
  proxy: string; // http://127.0.0.1:8080
  api: string;
  ui: string | null; // the address to open in a browser; null: there is none
  token: string; // of the read API; '' when it needs none
  out: (text: string) => void;
};

/** @throws {Error} the service does not answer as it should */
export async function showDemo({ version, proxy, api, ui, token, out }: Shown): Promise<void> {
  const line = (name: string, text: string) => out(`  ${pc.cyan(name.padEnd(9))} ${text}\n`);
  const fetchJson = jsonFetcher(api, token);

  out(`${pc.bold(`svc ${version} demo`)}: a conversation through the proxy at ${proxy}/openai/v1\n\n`);
  const seeded = await fetchJson<Seeded>('/v1/admin/seed/demo', { method: 'POST' });
  const began = new Date().toISOString();
  await converse(proxy, line);

  const { id, raw_turn_count, rollup } = await recorded(fetchJson, began);
  const { input_tokens, output_tokens, cost_usd } = rollup.usage;
  out(`\nRecorded as a session of ${raw_turn_count} model calls and ${rollup.tool_result_count} tool calls: `);
  out(`${input_tokens} tokens in, ${output_tokens} out, $${cost_usd}.\n`);
  out(
    `Beside it are ${seeded.sessions} sessions of ${seeded.raw_turns} model calls, written for this demo.\n\nLook at it:\n`,
  );

  const curl = (path: string) =>
    `curl ${token === '' ? '' : '-H "authorization: Bearer $SVC_API_TOKEN" '}'${api}${path}'`;
  if (ui !== null) line('web UI', `${ui} ${pc.dim('in a browser')}`);
  line('sessions', curl('/v1/sessions'));
  line('this one', curl(`/v1/sessions/${id}/traces`));
  line('a bug', curl(`/v1/sessions/${sessionId('claude', 'demo-flaky-midnight-test')}/traces`));
  line('its bytes', curl(`/v1/sessions/${id}/raw_turns?include=payload`));
  line('stats', curl('/v1/stats'));
  line('coverage', curl('/v1/coverage'));
  line('contract', `${api}/swagger ${pc.dim('in a browser')}`);
  out('\nCtrl-C stops it and removes all of it.\n');
}

type FetchJson = <T>(path: string, init?: RequestInit) => Promise<T>;

const jsonFetcher =
  (api: string, token: string): FetchJson =>
  async <T>(path: string, init: RequestInit = {}) => {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${api}${path}`, { ...init, headers });
    if (!response.ok) throw new Error(`Cannot show the demo: ${path} answers with status ${response.status}`);
    return (await response.json()) as T;
  };

const TIMEOUT_MS = 20_000;
const POLL_MS = 50;

/** The conversation's session, once all of it is derived. */
async function recorded(fetchJson: FetchJson, began: string): Promise<Session> {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    const { items } = await fetchJson<SessionPage>('/v1/sessions');
    const found = items.find(
      ({ started_at, raw_turn_count, rollup }) =>
        rollup.preview === QUESTION &&
        started_at >= began &&
        raw_turn_count === CALLS &&
        rollup.tool_result_count === TOOLS &&
        rollup.status === 'completed',
    );
    if (found) return found;
    await setTimeout(POLL_MS);
  }
  throw new Error('Cannot show the demo: its conversation does not become a session');
}
