/** How does a body get to whoever keeps it, and its sender to an answer? The same way for all that can be appended. */
import type { Context } from 'hono';
import { DatabaseError } from '../core/errors.ts';
import type { HttpEnv } from '../core/http/routes.ts';
import type { Logger } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { rejectOversize, takeBody, unreadable } from './body.ts';
import type { Room } from './read-body.ts';
import { rejection, rejectUnread } from './rejection.ts';

/**
 * Keeps a body for good and says where it stands. Its buffer may be moved to another thread: it is not looked at again.
 * @param subject who sent it, as a trusted gateway has it; null where nobody says so
 * @throws {DatabaseError} transient: it was not kept and may be sent again
 */
export type Append<Verdict> = (body: Uint8Array<ArrayBuffer>, subject: string | null) => Promise<Verdict>;

export type Taking = {
  /** Whether `x-svc-auth-subject` was set by a gateway; else anybody could claim another's name, and it is dropped. */
  trustCallerHeader: boolean;
  room: Room;
  log: Logger;
  metrics: Pick<Metrics, 'ingestWrite' | 'ingestBody' | 'ingestWait'>;
};

export type Appendable<Verdict> = {
  what: string; // as a sentence has it
  /** Under which it is counted as long as there is no verdict. */
  provider: string;
  append: Append<Verdict>;
  answer(verdict: Verdict, bytes: number): Response;
};

export async function take<Verdict>(
  c: Context<HttpEnv>,
  taking: Taking,
  { what, provider, append, answer }: Appendable<Verdict>,
): Promise<Response> {
  const { metrics, room, trustCallerHeader } = taking;
  const why = unreadable(c);
  if (why) {
    metrics.ingestWrite(provider, 'reject_media_type');
    return rejectUnread(c, 415, why);
  }
  const body = await takeBody(c, room);
  switch (body.kind) {
    case 'oversize':
      return rejectOversize(c, taking);
    case 'busy':
      metrics.ingestWrite(provider, 'busy');
      c.header('retry-after', '1');
      return rejectUnread(c, 503, `Cannot take the ${what}: too many bodies are under way; ask again`);
    case 'cut': // answered all the same, though hardly anybody listens
      metrics.ingestWrite(provider, 'reject_envelope');
      return rejection(c, 400, 'bad-request', 'Cannot read the body: it ended before it was whole');
  }
  const bytes = body.bytes.byteLength; // asked now: what was moved to another thread has no length here
  const began = performance.now();
  try {
    const verdict = await append(body.bytes, (trustCallerHeader && c.req.header('x-svc-auth-subject')) || null);
    metrics.ingestWait((performance.now() - began) / 1000);
    return answer(verdict, bytes);
  } catch (thrown) {
    metrics.ingestWrite(provider, thrown instanceof DatabaseError && thrown.transient ? 'unavailable' : 'failed');
    throw thrown;
  } finally {
    room.give(bytes);
  }
}

/** What both kinds of body can come to without being kept. */
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
