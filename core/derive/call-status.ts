/** The status of a call, and that of a session, which follows from its last call. */
import { stopKind } from '../provider/formats.ts';
import type { RollupRow, SpanRow } from './changes.ts';
import type { CallTurn } from './turn.ts';

export type CallStatus = { status: SpanRow['status']; error_type: string };

/** Of a call that passed whole, the copy did not. */
const OVERFLOW = 'overflow';

/**
 * A call is in error when the provider reports one or nothing came back, and partial when only part of the answer did, or was stored.
 * `error_type`: the provider's word, else `http_<status>`, else how the exchange ended.
 */
export function callStatus({ reply, status, ending, outcome }: CallTurn): CallStatus {
  if (reply?.error) return { status: 'error', error_type: reply.error.type || failure(status, ending) };
  if (status !== null && status >= 400) return { status: 'error', error_type: `http_${status}` };
  if (status === null) return { status: 'error', error_type: failure(status, ending) };
  if (ending !== 'complete' && ending !== OVERFLOW && (reply === null || reply.content.length === 0)) {
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

/** Words of senders that read answers themselves. */
const SENDERS_WORDS: Record<string, 'ended' | 'tools'> = {
  'end-turn': 'ended',
  eos: 'ended',
  tool_use_response: 'tools',
};

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
  const kind =
    stopKind(leaf.stop_reason) ??
    (Object.hasOwn(SENDERS_WORDS, leaf.stop_reason) ? SENDERS_WORDS[leaf.stop_reason] : null);
  if (kind === 'cut' || leaf.stop_reason.includes('error')) return 'failed';
  if (git || kind === 'ended') return 'completed'; // commands that failed before the model ended its answer are part of the work
  if (errors * 2 > results) return 'failed';
  return kind === 'tools' ? 'completed' : 'unknown'; // no call followed the request for a tool
}
