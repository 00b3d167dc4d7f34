/** Where does a turn belong? What has to be known of it to say so, and what is said then. */
import type { Identity } from '../../model/identity.ts';
import type { CallNodes } from '../../model/node.ts';

/** What placing needs to know of a turn. `client_key` is hex. */
export type Unplaced = {
  call_id: string;
  client_key: string;
  identity: Identity;
  retry: boolean; // the client says that it asks again
  requested_at: string;
  nodes: CallNodes;
};

/** A session, and what its id is made of. */
export type SessionKey = { session_id: string; harness_id: string; harness_session_id: string };

export type Placement = SessionKey & {
  fork: { session_id: string; node_hash: string } | null;
  /** A call of the session has waited for this one: how its messages hang together is to be worked out anew. */
  awaited: boolean;
  /** Sessions without a name that this turn shows to be part of its own: calls of theirs waited for its answer. */
  merges: readonly string[];
};
