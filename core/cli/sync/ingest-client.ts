/** Sends transcripts to the ingest API of a running service, again and again while it cannot take them, with errors that say what to do. */
import { Agent, type IncomingMessage, request as open } from 'node:http';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../../errors.ts';
import { isObject } from '../../parse-json.ts';
import { openBackoff, sleepUntil } from '../../retry.ts';
import { openSemaphore } from '../../semaphore.ts';
import { jsonIn } from '../response-body.ts';
import { plain } from '../units.ts';

/** How many uploads are under way at once. */
const UPLOADS = 3;
/** For one upload: a service that derives a backlog meanwhile may be slow. */
const RESPONSE_TIMEOUT_MS = 120_000;
const PING_TIMEOUT_MS = 5_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** For how long uploads are tried again while none succeeds. */
const RETRY_FOR_MS = 120_000; // more than a service is down between two tries

export type SentTo = { kind: 'accepted'; session_id: string; deduped: boolean };
/** The service has looked at it and does not store it; a second attempt would end as this one did. */
export type UploadRefused = { kind: 'refused'; reason: string };
/** Nothing of its session is stored any more. */
export type UploadOfPurged = { kind: 'purged' };

export type IngestClient = {
  /** Names the database behind the service. */
  installation: string;
  /** @param body its pieces, in order @throws {OperatorError} the service has ended, or takes nothing for too long */
  upload(body: readonly Buffer[]): Promise<SentTo | UploadRefused | UploadOfPurged>;
  close(): void;
};

type Options = { address: string; signal: AbortSignal; retryForMs?: number };

/** @throws {OperatorError} nobody listens there, or something that is no ingest API of ours: it must not get anybody's prompts */
export async function openIngestClient({ address, signal, retryForMs = RETRY_FOR_MS }: Options): Promise<IngestClient> {
  const agent = new Agent({ keepAlive: true, maxSockets: UPLOADS });
  const slots = openSemaphore(UPLOADS);
  let succeededAt = performance.now();

  /** Until it is answered with another status than 'try again', or the time for retries ends. */
  async function persistent(send: () => Promise<Response>): Promise<Response> {
    const backoff = openBackoff({ firstMs: FIRST_WAIT_MS, maxMs: LONGEST_WAIT_MS });
    for (;;) {
      const response = await send().catch((error: NodeJS.ErrnoException) => error);
      if (!(response instanceof Error) && response.status !== 503 && response.status !== 429) {
        succeededAt = performance.now();
        return response;
      }
      if (signal.aborted) throw stopped();
      const leftMs = succeededAt + retryForMs - performance.now();
      if (leftMs <= 0) throw new OperatorError(`Cannot send the transcripts: ${whyNot(response, address)}`);
      const wanted = response instanceof Error ? 0 : response.retryAfterMs;
      await sleepUntil(signal, Math.min(leftMs, LONGEST_WAIT_MS, Math.max(wanted, backoff.next())));
    }
  }

  const installation = await recognised(address, agent, signal);
  return {
    installation,
    upload: async (body) => {
      await slots.acquire();
      try {
        if (signal.aborted) throw stopped();
        const post = { path: '/v1/ingest/transcript', body, timeoutMs: RESPONSE_TIMEOUT_MS };
        return verdict(await persistent(() => exchange(address, agent, { ...post, signal })), address);
      } finally {
        slots.release();
      }
    },
    close: () => agent.destroy(),
  };
}

/** What ends a sweep that was stopped. */
export const stopped = () => new OperatorError("Stopped: what was sent is noted; 'svc sync' sends the rest");

/** `installation`: null: none, or what is no id; empty: the service does not know its database yet. */
type Response = { status: number; installation: string | null; retryAfterMs: number; body: unknown };
type Sent = { path: string; body?: readonly Buffer[]; timeoutMs: number; signal: AbortSignal };

function exchange(address: string, agent: Agent, { path, body, timeoutMs, signal }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const length = body?.reduce((sum, piece) => sum + piece.length, 0) ?? 0;
    const headers = body ? { 'content-type': 'application/json', 'content-length': length } : {};
    const url = address.replace(/\/+$/, '') + path;
    const outgoing = open(url, { method: body ? 'POST' : 'GET', agent, headers, signal }, (incoming) => {
      responseOf(incoming).then(resolve, reject);
    });
    outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error(`no response came within ${timeoutMs / 1000} s`)));
    outgoing.on('error', reject);
    for (const piece of body ?? []) outgoing.write(piece);
    outgoing.end();
  });
}

async function responseOf(incoming: IncomingMessage): Promise<Response> {
  const { 'retry-after': retryAfter = '', 'x-svc-installation': installation } = incoming.headers;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : 0;
  const body = jsonIn(await text(incoming));
  return {
    ...{ status: incoming.statusCode ?? 0, body, retryAfterMs: seconds * 1000 },
    installation: typeof installation === 'string' && INSTALLATION.test(installation) ? installation : null,
  };
}

/** The id of an installation, or nothing while its database is away. It names a file here, so whoever answers must not choose another text. */
const INSTALLATION = /^(?:[0-9a-f]{32})?$/;

/** The installation behind the address, once the service knows its database. */
async function recognised(address: string, agent: Agent, signal: AbortSignal): Promise<string> {
  const backoff = openBackoff({ firstMs: 100, maxMs: 1_000 });
  for (let attempt = 0; ; attempt++) {
    const ping = { path: '/ping', timeoutMs: PING_TIMEOUT_MS, signal };
    const response = await exchange(address, agent, ping).catch((error: NodeJS.ErrnoException) => error);
    if (signal.aborted) throw stopped();
    if (response instanceof Error) throw new OperatorError(`Cannot find the service: ${whyNot(response, address)}`);
    if (response.status === 403)
      throw new OperatorError(
        `Cannot use the service at ${address}: it does not answer to that host name; add it to allowed_hosts`,
      );
    if (response.status === 503) throw new OperatorError(`Cannot send the transcripts: ${whyNot(response, address)}`);
    if (response.status !== 200 || response.installation === null)
      throw new OperatorError(
        `Cannot find the service: another program answers at ${address}; say where it is with --ingest-listen`,
      );
    if (response.installation !== '') return response.installation;
    if (attempt === 15) throw new OperatorError('Cannot send the transcripts: the service cannot reach its database');
    await sleepUntil(signal, backoff.next());
  }
}

function whyNot(response: Response | NodeJS.ErrnoException, address: string): string {
  if (!(response instanceof Error))
    return `the service takes nothing at the moment: ${errorIn(response.body) ?? `it answers with ${response.status}`}`;
  return response.code === 'ECONNREFUSED'
    ? `nobody listens at ${address}; 'svc serve' starts one`
    : `${address} does not answer: ${response.code ?? response.message}`;
}

/** @throws {OperatorError} what answers is no ingest API any more */
function verdict({ status, body }: Response, address: string): SentTo | UploadRefused | UploadOfPurged {
  if (status === 202 && isObject(body)) {
    const { session_id, deduped } = body;
    return { kind: 'accepted', session_id: String(session_id), deduped: deduped === true };
  }
  if (status === 410) return { kind: 'purged' };
  if ([400, 409, 413, 422, 500].includes(status))
    return { kind: 'refused', reason: errorIn(body) ?? `the service answers with ${status}` };
  throw new OperatorError(
    `Cannot send the transcripts: ${errorIn(body) ?? `${address} answers with ${status}; it is no ingest API`}`,
  );
}

const errorIn = (body: unknown): string | null =>
  isObject(body) && typeof body.error === 'string' ? plain(body.error) : null;
