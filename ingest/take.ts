/** The way of a body to the store and of its sender to a response: the same for everything that can be appended. */
import type { Context } from 'hono';
import { DatabaseError } from '../core/errors.ts';
import type { HttpEnv } from '../core/http/routes.ts';
import type { Logger } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { rejectOversize, takeBody, unreadable } from './body.ts';
import type { ByteSemaphore } from './read-body.ts';
import { rejection, rejectUnread } from './rejection.ts';

/**
 * Stores a body durably and returns where it is stored. Its buffer may be moved to another thread, so callers must not read it again.
 * @param subject the sender, as a trusted gateway names it; null where none does
 * @throws {DatabaseError} transient: it was not stored and may be sent again
 */
export type Append<Verdict> = (body: Uint8Array<ArrayBuffer>, subject: string | null) => Promise<Verdict>;

export type Taking = {
  /** Whether `x-svc-auth-subject` was set by a gateway; else anybody could claim another's name, and it is dropped. */
  trustCallerHeader: boolean;
  room: ByteSemaphore;
  log: Logger;
  metrics: Pick<Metrics, 'ingestWrite' | 'ingestBody' | 'ingestWait'>;
};

export type Appendable<Verdict> = {
  what: string; // its name in a sentence
  /** The provider under which it is counted before there is a verdict. */
  provider: string;
  append: Append<Verdict>;
  answer(verdict: Verdict, bytes: number): Response;
};

export async function take<Verdict>(
  c: Context<HttpEnv>,
  deps: Taking,
  { what, provider, append, answer }: Appendable<Verdict>,
): Promise<Response> {
  const { metrics, room, trustCallerHeader } = deps;
  const why = unreadable(c);
  if (why) {
    metrics.ingestWrite(provider, 'reject_media_type');
    return rejectUnread(c, 415, why);
  }
  const body = await takeBody(c, room);
  switch (body.kind) {
    case 'oversize':
      return rejectOversize(c, deps);
    case 'busy':
      metrics.ingestWrite(provider, 'busy');
      c.header('retry-after', '1');
      return rejectUnread(c, 503, `Cannot take the ${what}: too many bodies are under way; ask again`);
    case 'cut': // answered all the same, though the client has probably left
      metrics.ingestWrite(provider, 'reject_envelope');
      return rejection(c, 400, 'bad-request', 'Cannot read the body: it ended before it was whole');
  }
  const bytes = body.bytes.byteLength; // read now: after the move to another thread its length here is 0
  const began = performance.now();
  try {
    const verdict = await append(body.bytes, (trustCallerHeader && c.req.header('x-svc-auth-subject')) || null);
    metrics.ingestWait((performance.now() - began) / 1000);
    return answer(verdict, bytes);
  } catch (thrown) {
    metrics.ingestWrite(provider, thrown instanceof DatabaseError && thrown.transient ? 'unavailable' : 'failed');
    throw thrown;
  } finally {
    room.release(bytes);
  }
}

/** The response to a body of either kind that was not stored. */
export function answerRejected(
  c: Context<HttpEnv>,
  { kind, error }: { kind: 'malformed' | 'unavailable'; error: string },
  provider: string,
  { metrics }: Taking,
): Response {
  if (kind === 'malformed') {
    metrics.ingestWrite(provider, 'reject_envelope');
    return rejection(c, 400, 'bad-request', error);
  }
  metrics.ingestWrite(provider, 'unavailable');
  c.header('retry-after', '1');
  return rejection(c, 503, 'unavailable', error);
}
