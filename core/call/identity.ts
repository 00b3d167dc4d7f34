/** The identity of a call, as far as the call itself states it: the envelope first, then what the harness sends. (README.md beside it) */
import { createHash } from 'node:crypto';
import { v5 } from 'uuid';
import { type Envelope, envelopeOf } from '../capture/envelope.ts';
import { harnessOf, threadOf } from '../harness/harnesses.ts';
import { libraryOf } from '../harness/libraries.ts';
import type { HeaderList } from '../model/headers.ts';
import type { Identity } from '../model/identity.ts';

/** `envelope` and `thread_id` come from a sender that captured the call itself; without them both are read from the headers. */
type IdentityInput = { headers: HeaderList; project: string; envelope?: Envelope; thread_id?: string };

/**
 * Decided field by field, so that a wrapper may set only what it knows. `harness_session_id` stays empty when neither names a session;
 * then the chain of messages decides at intake (`conversation.ts`). `open-exchange.ts` adds a provider's conversation id.
 * @param skeleton the parsed body with its cut arrays empty; null when it cannot be read
 */
export function identityOf(
  { headers, project, envelope = envelopeOf(headers), thread_id = threadOf(headers) }: IdentityInput,
  skeleton: Record<string, unknown> | null,
): Identity {
  const harness = harnessOf(headers, skeleton);
  const harness_id = boundedId(
    envelope.harness_id === 'unknown' ? (harness?.harness_id ?? 'unknown') : envelope.harness_id,
  );
  const library = harness_id === 'unknown' ? libraryOf(headers) : null;
  return {
    harness_id,
    harness_session_id: boundedId(envelope.harness_session_id || (harness?.harness_session_id ?? '')),
    thread_id: boundedId(thread_id),
    parent_harness_session_id:
      boundedId(envelope.parent_harness_session_id ?? (harness?.parent_harness_session_id || '')) || null,
    parent_thread_id: boundedId(harness?.parent_thread_id ?? ''),
    harness_version: envelope.harness_version || (harness?.harness_version ?? library?.version ?? ''),
    cwd: envelope.cwd,
    session_name: envelope.session_name,
    harness_metadata: envelope.harness_metadata ?? harness?.harness_metadata ?? null,
    agent_name: envelope.agent_name || (harness_id === 'unknown' ? (library?.name ?? '') : harness_id),
    project: envelope.project || project,
    auth_subject: envelope.auth_subject,
  };
}

/** Must never change: every session id is computed with it. */
const NAMESPACE = '8e7b4a5c-5f0d-4c53-9f0a-6f3f1f6d2b91';

/**
 * A session's id is computed from its key, so that every process gets the same one.
 * @example
 * sessionId('claude', 'abc') === sessionId('claude', 'abc'); // => true
 * sessionId('claude', 'abc') === sessionId('codex', 'abc'); // => false
 */
export const sessionId = (harness_id: string, harness_session_id: string): string =>
  v5(`${harness_id}\0${harness_session_id}`, NAMESPACE);

/** Ids are keys of indexes, which refuse long values: a long id is replaced by its hash. */
export const boundedId = (id: string): string =>
  id.length <= 256 ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`;
