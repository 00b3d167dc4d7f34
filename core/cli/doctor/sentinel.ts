/**
 * Sentinel turns: calls of our own, sent as a client would send them and then read back, which shows that what passes is recorded. Through
 * the proxy they reach the provider with a key that it refuses, so they cost nothing. Afterwards they are taken from all lists.
 */
import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import { baseAt } from '../../http/whose-call.ts';
import type { Place } from '../../model/place.ts';
import type { RawTurnSides } from '../../model/raw-turn.ts';
import type { ProviderId } from '../../provider/provider-ids.ts';
import { providerById } from '../../provider/providers.ts';
import type { ApiClient } from '../api-client.ts';
import { httpOf } from '../get-json.ts';
import { tlsFailure, tlsReason } from '../tls-failure.ts';
import { type Finding, fail, ok } from './finding.ts';

const STORED_MS = 20_000;
const AGAIN_MS = 200;
const UPSTREAM_MS = 30_000;

const HARNESS = 'svc-doctor';
const MODEL = 'svc-doctor';
const PROMPT = "A turn of 'svc doctor'";

/** The smallest call of each provider that is a turn. */
const CALLS: Readonly<Record<ProviderId, { path: string; body: object }>> = {
  anthropic: {
    path: '/v1/messages',
    body: { model: MODEL, max_tokens: 1, messages: [{ role: 'user', content: PROMPT }] },
  },
  gemini: {
    path: `/v1beta/models/${MODEL}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
  },
  openai: { path: '/chat/completions', body: { model: MODEL, messages: [{ role: 'user', content: PROMPT }] } },
  ollama: { path: '/api/chat', body: { model: MODEL, stream: false, messages: [{ role: 'user', content: PROMPT }] } },
};

/** @param proxy as `http://localhost:8080` */
export async function sentinelThroughProxy(api: ApiClient, proxy: string, provider: ProviderId): Promise<Finding> {
  const check = `recording ${provider}`;
  const id = `doctor-${randomUUID()}`;
  const { path, body } = CALLS[provider];
  const { keyHeader } = providerById(provider);
  const headers = {
    ...(keyHeader ? { [keyHeader]: HARNESS } : { authorization: `Bearer ${HARNESS}` }),
    'x-svc-harness-id': HARNESS,
    'x-svc-harness-session-id': id,
  };
  const sent = await post(baseAt(proxy, provider) + path, body, headers, UPSTREAM_MS);
  if (typeof sent === 'string') return fail(check, `a call through the proxy got no response: ${sent}`, 'svc status');
  const place = await stored(api, id);
  if (!place)
    return fail(
      check,
      `a call passed, with status ${sent}, and was not recorded within ${STORED_MS / 1000} s`,
      'svc coverage',
    );
  const reached = await upstreamAnswered(api, place);
  const shown = await hide(api, place);
  if (shown !== null) return fail(check, `a call was recorded and read back, ${shown}`, 'svc status');
  if (!reached)
    return fail(
      check,
      'a call was recorded, and its provider could not be reached',
      `proxy.upstreams.${provider} in the configuration says where it goes`,
    );
  return ok(
    check,
    `a call reached the provider, which answered with ${sent}${sent === 401 ? ', since our key is none' : ''}, and was read back`,
  );
}

/** @param ingest as `http://localhost:8082` */
export async function sentinelThroughIngest(api: ApiClient, ingest: string): Promise<Finding> {
  const check = 'recording by ingest';
  const id = `doctor-${randomUUID()}`;
  const answer = { id, type: 'message', role: 'assistant', model: MODEL, content: [], stop_reason: 'end_turn' };
  const body = {
    provider: 'anthropic',
    request: CALLS.anthropic.body,
    raw_response: Buffer.from(JSON.stringify({ ...answer, usage: { input_tokens: 0, output_tokens: 0 } })).toString(
      'base64',
    ),
    meta: { request_id: id, upstream_status: 200 },
    session: { harness_id: HARNESS, harness_session_id: id },
  };
  const sent = await post(`${ingest}/v1/ingest`, body, {}, UPSTREAM_MS);
  if (sent !== 202)
    return fail(check, `a call was not accepted: ${typeof sent === 'string' ? sent : `status ${sent}`}`, 'svc status');
  const place = await stored(api, id);
  if (!place) return fail(check, 'a call was accepted, and could not be read back', 'svc status');
  const shown = await hide(api, place);
  return shown === null
    ? ok(check, 'a call was accepted and read back')
    : fail(check, `a call was accepted and read back, ${shown}`, 'svc status');
}

/** The status of the response, or why there was none. */
async function post(
  address: string,
  body: object,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<number | string> {
  const { protocol } = new URL(address);
  const { request } = await httpOf(protocol);
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve) => {
    const why = ({ code, message }: NodeJS.ErrnoException) => resolve(tlsReason(tlsFailure(protocol, code)) ?? message);
    const sent = { 'content-type': 'application/json', 'content-length': bytes.length, ...headers };
    try {
      const outgoing = request(address, { method: 'POST', agent: false, headers: sent }, (response) => {
        text(response).then(
          () => resolve(response.statusCode ?? 0),
          () => resolve('it was broken off'),
        );
      });
      outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error(`none came within ${timeoutMs / 1000} s`)));
      outgoing.on('error', why);
      outgoing.end(bytes);
    } catch (error) {
      why(error as NodeJS.ErrnoException); // an address to which no request can be made
    }
  });
}

async function stored(api: ApiClient, harness_session_id: string): Promise<Place | null> {
  const until = performance.now() + STORED_MS;
  for (;;) {
    const { items } = await api.json<{ items: Place[] }>({
      path: `/v1/whereis/${harness_session_id}`,
      what: 'read the call back',
    });
    if (items[0]) return items[0];
    if (performance.now() > until) return null;
    await sleep(AGAIN_MS);
  }
}

/** Whether the response is the provider's: the proxy has its own where it could not connect. */
async function upstreamAnswered(api: ApiClient, { session_id }: Place): Promise<boolean> {
  const { items } = await api.json<{ items: Pick<RawTurnSides, 'ending'>[] }>({
    path: `/v1/sessions/${session_id}/raw_turns?limit=1`,
    what: 'read the call back',
  });
  return items[0]?.ending === 'complete';
}

/** Null: it is in no list any more. Else what is so instead, as the end of a sentence. */
async function hide(api: ApiClient, { session_id }: Place): Promise<string | null> {
  try {
    await api.json({ method: 'DELETE', path: `/v1/sessions/${session_id}`, what: 'hide the call' });
    return null;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return `and stays in the lists as session ${session_id}, since it could not be hidden: ${reasonIn(error)}`;
  }
}

/** Why the service refuses: without 'Cannot …:', of which there are two where it says so itself. */
export const reasonIn = ({ message }: OperatorError): string => message.replace(/^(?:Cannot [^:]*: )+/, '');
