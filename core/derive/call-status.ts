/** The status of a call, and that of a session, which follows from its last call. */
import type { RollupRow, SpanRow } from './changes.ts';
import type { CallTurn } from './turn.ts';

export type CallStatus = { status: SpanRow['status']; error_type: string };

/**
 * A call is in error when the provider reports one or nothing came back, and partial when only part of the answer did.
 * `error_type`: the provider's word, else `http_<status>`, else how the exchange ended.
 */
export function callStatus({ reply, status, ending, outcome }: CallTurn): CallStatus {
  if (reply?.error) return { status: 'error', error_type: reply.error.type || failure(status, ending) };
  if (status !== null && status >= 400) return { status: 'error', error_type: `http_${status}` };
  if (status === null) return { status: 'error', error_type: failure(status, ending) };
  if (ending !== 'complete' && (reply === null || reply.content.length === 0)) {
    return { status: 'error', error_type: ending };
  }
  if (outcome === 'partial') return { status: 'partial', error_type: ending === 'complete' ? '' : ending };
  if (outcome === 'undecodable') return { status: 'partial', error_type: outcome }; // the call succeeded, but its answer cannot be read
  return { status: 'ok', error_type: '' };
}

const failure = (status: number | null, ending: string) =>
  status !== null && status >= 400 ? `http_${status}` : ending === 'complete' ? 'error' : ending;

/** What a session's status needs of the last main call of the main thread. */
export type Leaf = CallStatus & { stop_reason: string };

const CUT_SHORT = new Set(['length', 'max_tokens', 'max_output_tokens', 'content_filter', 'refusal']);
/** The model ended its answer by itself: commands that failed before that are part of the work. */
const ENDED_WELL = new Set(['stop', 'end_turn', 'end-turn', 'eos', 'stop_sequence']);
/** The model requested a tool, and no call followed. */
const ASKED_FOR_MORE = new Set(['tool_use', 'tool_use_response', 'tool_calls', 'function_call']);

/**
 * `abandoned`: the client left before there was an answer; `interrupted`: while there was one, as with Ctrl-C. A session that
 * stopped before the model ended its answer has failed when most of its tools failed.
 */
export function sessionStatus(
  leaf: Leaf | null,
  { results, errors, git }: { results: number; errors: number; git: boolean },
): RollupRow['status'] {
  if (leaf === null) return 'unknown';
  if (leaf.status === 'error') return leaf.error_type === 'client_closed' ? 'abandoned' : 'failed';
  if (leaf.status === 'partial' && leaf.error_type === 'client_closed') return 'interrupted';
  if (CUT_SHORT.has(leaf.stop_reason) || leaf.stop_reason.includes('error')) return 'failed';
  if (git || ENDED_WELL.has(leaf.stop_reason)) return 'completed';
  if (errors * 2 > results) return 'failed';
  return ASKED_FOR_MORE.has(leaf.stop_reason) ? 'completed' : 'unknown';
}
