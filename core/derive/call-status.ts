/** How did a call go, and with its last call a session? (Reference section 4.9, DESIGN section 7.) */
import type { RollupRow, SpanRow } from './changes.ts';
import type { CallTurn } from './turn.ts';

export type CallStatus = { status: SpanRow['status']; error_type: string };

/**
 * A call is in error when the provider says so or nothing came back, and partial when only part of the answer did.
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
  if (outcome === 'undecodable') return { status: 'partial', error_type: outcome }; // it went well: we cannot read it
  return { status: 'ok', error_type: '' };
}

const failure = (status: number | null, ending: string) =>
  status !== null && status >= 400 ? `http_${status}` : ending === 'complete' ? 'error' : ending;

/** The last main call of the main thread, as far as a session's status asks. */
export type Leaf = CallStatus & { stop_reason: string };

const CUT_SHORT = new Set(['length', 'max_tokens', 'max_output_tokens', 'content_filter', 'refusal']);
/** The model's own last word: commands that failed on the way to it are part of the work. */
const ENDED_WELL = new Set(['stop', 'end_turn', 'end-turn', 'eos', 'stop_sequence']);
/** It asked for more, and nobody went on. */
const ASKED_FOR_MORE = new Set(['tool_use', 'tool_use_response', 'tool_calls', 'function_call']);

/**
 * `abandoned`: the client left before there was an answer; `interrupted`: while there was one, as with Ctrl-C. Of a session that
 * stopped before the model had its last word, tools that mostly failed make a failure.
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
