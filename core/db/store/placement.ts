/** Placement: the facts of a turn that decide its session, and the decision. */
import type { Identity } from '../../model/identity.ts';
import type { CallNodes } from '../../model/node.ts';

/** The facts that placing needs of a turn. `client_key` is hex. */
export type Unplaced = {
  call_id: string;
  client_key: string;
  identity: Identity;
  retry: boolean; // the client marked the request as a retry
  requested_at: string;
  nodes: CallNodes;
};

/** A session, and the names that its id is made of. */
export type SessionKey = { session_id: string; harness_id: string; harness_session_id: string };

export type Placement = SessionKey & {
  fork: { session_id: string; node_hash: string } | null;
  /** A call of the session has waited for this one: the session's messages have to be linked anew. */
  awaited: boolean;
  /** Unnamed sessions that this turn shows to be part of its own: calls of theirs waited for its response. */
  merges: readonly string[];
};
