/** The input of derivation: a captured call in the terms of the model, with what it adds to its session. */
import type { Surroundings } from '../harness/harness.ts';
import type { Message } from '../model/bucket.ts';
import type { CallKind } from '../model/call-kind.ts';
import type { Ending, Outcome } from '../model/coverage.ts';
import type { Identity } from '../model/identity.ts';
import type { Reply } from '../model/reply.ts';

/** A message that no earlier call of the session holds. `injected` names whole-message context of a harness; '' is conversation. */
export type FreshMessage = Message & { node_hash: string; parent_hash: string | null; injected: string };

/**
 * One call. Its order within the session is (requested_at, call_id): the same whatever order the calls were stored in.
 * Hashes are lower-case hex, instants UTC with microseconds (`2026-11-21T09:30:00.123456Z`: they compare as text).
 */
export type CallTurn = {
  raw_turn_id: number;
  call_id: string; // svc_proxy_request_id, else request_id, else the raw turn's id
  session_id: string;
  thread_id: string; // '' is the main thread
  source: 'wire' | 'transcript';
  kind: CallKind;
  judged: string; // the action that a permission check judges; ''
  identity: Identity;
  surroundings: Surroundings;
  outcome: Outcome;
  ending: Ending;
  status: number | null;
  provider: string;
  format: string;
  model: string; // as requested
  stream: boolean;
  max_tokens: number | null;
  tool_count: number;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  retry_count: number; // attempts before this one; 0 where the client does not say
  fresh: FreshMessage[]; // in chain order
  tip_hash: string | null; // last conversation message of the request; null when the request cannot be read
  leaf_hash: string | null; // the answer; null when none can be read
  reply: Reply | null;
  /** The session in which the call counts; absent: this one. An inherited call is shown here and counted there. */
  inherited_from?: string;
};
