/** Posts turns to a running service as a gateway does, and reads what became of them. */
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { RawTurnPage } from '../../core/model/raw-turn.ts';
import type { SessionDocument } from '../../core/model/trace.ts';
import { type SessionWithCaptures, spansOf } from './read-sessions.ts';
import { eventually, read, type Service } from './serve.ts';

export type Posted = { status: number; headers: Headers; text: string };
export type RawTurn = z.infer<typeof RawTurnPage>['items'][number];

/** The body of a 202. */
export type Accepted = {
  status: 'accepted';
  raw_turn_id: number;
  session_id: string;
  request_id: string;
  deduped: boolean;
};

type Ingest = Pick<Service, 'ingest'>;
type Api = Pick<Service, 'api'>;

export async function postTurn(
  { ingest }: Ingest,
  body: BodyInit,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(`${ingest}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export const acceptedTurn = async (service: Ingest, body: BodyInit): Promise<Accepted> =>
  acceptance(await postTurn(service, body));

export function acceptance({ status, text }: Posted): Accepted {
  assert.is(status, 202, text);
  return JSON.parse(text) as Accepted;
}

/** A call that any reader understands, as a gateway sends it that has read the answer itself. */
export const plainTurn = (request_id: string, question = `Question ${request_id}`): string =>
  JSON.stringify({
    provider: 'openai',
    request: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: question }] },
    response: {
      model: 'gpt-4o-mini',
      message: { role: 'assistant', content: [{ type: 'text', text: `Answer to ${question}` }] },
      stop_reason: 'stop',
      usage: { prompt_tokens: 1000, completion_tokens: 100 },
    },
    meta: { request_id, upstream_status: 200, ts_request: '2026-11-21T09:00:00Z', elapsed_seconds: 2 },
  });

/** A session with its traces and spans, once it has that many calls. Its rollup is read before its spans, so both are checked. */
export const derivedSession = ({ api }: Api, session_id: string, calls: number): Promise<SessionWithCaptures> =>
  eventually(`${calls} calls in session ${session_id}`, async () => {
    const document = await read<z.infer<typeof SessionDocument>>(`${api}/v1/sessions/${session_id}/traces`);
    const session = { ...document, captures: [] };
    const counted = Object.values(session.session.rollup.kind_counts).reduce((sum, count) => sum + count, 0);
    return counted === calls && spansOf(session, 'llm').length === calls && session;
  });

/** The raw turns of a session in the order in which they were stored, with their bytes. */
export const rawTurnsOf = async ({ api }: Api, session_id: string): Promise<RawTurn[]> =>
  (await read<z.infer<typeof RawTurnPage>>(`${api}/v1/sessions/${session_id}/raw_turns?include=payload&limit=200`))
    .items;

/** The exact bytes of a raw turn's request. */
export function requestOf({ payload }: RawTurn): Buffer {
  const { body = '', encoding } = payload?.request ?? {};
  return Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');
}

/** How many bodies had that outcome in the metrics of the ingest listener; 0 where there is no such series. */
export async function writesOf({ ingest }: Ingest, provider: string, status: string): Promise<number> {
  const series = `svc_ingest_writes_total{provider="${provider}",status="${status}"} `;
  const lines = (await (await fetch(`${ingest}/metrics`)).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(series))?.slice(series.length) ?? 0);
}
