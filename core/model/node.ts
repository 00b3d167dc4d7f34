/** The stored rows of the Merkle DAG: one per distinct message of a session, and one per call, with the nodes at which its messages end. */
import type { MessageRole } from './bucket.ts';
import type { CallKind } from './call-kind.ts';
import type { CostPart } from './stats-series.ts';
import type { Usage } from './usage.ts';

/** A message linked into the DAG: all of it follows from its hash, except the slice that held it. Hashes are lower-case hex. */
export type LinkedMessage = {
  node_hash: string;
  parent_hash: string | null; // null: a root
  depth: number; // distance from the root
  role: MessageRole;
  injected: string; // the kind of whole-message context that a harness inserts; '' is conversation
  tool_calls: number; // blocks that are calls of tools
  slice_id: string | null; // the message as sent; null: the answer of the call
};

/**
 * A row of `svc.nodes` without its session. Members that `LinkedMessage` does not have are attributes, taken from the call with the lowest
 * (requested_at, call_id) that holds the message. Instants are UTC with microseconds.
 */
export type NodeRow = LinkedMessage &
  Usage & {
    call_id: string;
    position: number; // among the messages of that call, 0 first; the answer comes after the request's
    model: string;
    provider: string;
    agent_name: string;
    project: string;
    stop_reason: string;
    requested_at: string;
    created_at: string; // when the call was made, or for an answer its last byte
    cost_usd: string | null; // of an answer with a price, an exact decimal
  } & CostColumns;

/** What a cost comes to by kind of token, exact decimals; null: nothing, or not known. */
export type CostColumns = { [Part in CostPart as `cost_${Part}`]: string | null };

/** The columns of known parts. */
export const costColumns = (parts: Record<CostPart, string> | null): CostColumns =>
  parts === null
    ? NO_COST
    : {
        cost_fresh: orNull(parts.fresh),
        cost_cache_read: orNull(parts.cache_read),
        cost_cache_write_5m: orNull(parts.cache_write_5m),
        cost_cache_write_1h: orNull(parts.cache_write_1h),
        cost_output: orNull(parts.output),
        cost_reasoning: orNull(parts.reasoning),
      };

const NO_COST: CostColumns = {
  cost_fresh: null,
  cost_cache_read: null,
  cost_cache_write_5m: null,
  cost_cache_write_1h: null,
  cost_output: null,
  cost_reasoning: null,
};
const orNull = (usd: string) => (usd === '0' ? null : usd);

/** A row of `svc.calls` without its raw turn and session. */
export type CallRow = {
  tip_hash: string | null; // the request's last message that is not injected; null: none, or it cannot be read
  leaf_hash: string | null; // the answer; null: none that can be read
  model: string;
  stream: boolean;
  max_tokens: number | null;
  tool_count: number;
  call_key: string | null; // identifies the call wherever it is recorded, in hex: call/call-key.ts
  response_id: string; // the provider's own id of the answer; '' when it gives none
  previous_response_id: string; // of the answer that the request continues; ''
  item_ids: string[]; // of the answer's parts that the provider holds, to which later requests may refer
  item_reference: string; // the item that the request refers to last, where it is none of the answer that it continues; ''
  conversation_id: string; // the provider's own id of the conversation; ''
  unreadable: string; // why the request cannot be read; ''
  kind: CallKind;
  judged: string; // the action that a permission check judges; ''
  cwd: string; // as the call's content has it; ''
  git_branch: string; // the same
  agent_name: string; // the same
};

/** What was read in one call: its row, its messages in order, and what its nodes have in common. */
export type CallNodes = {
  call: CallRow;
  messages: LinkedMessage[]; // of the request
  answer: LinkedMessage | null;
  call_id: string;
  model: string; // as answered, else as requested
  provider: string;
  agent_name: string;
  project: string;
  stop_reason: string;
  usage: Usage;
  cost_usd: string | null; // null: not priced, or nothing was used
  cost_parts: Record<CostPart, string> | null; // of that cost
  requested_at: string;
  answered_at: string; // last byte of the answer, or requested_at
};
