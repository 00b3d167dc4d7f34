/** The call that a request continues where the provider keeps the conversation, and what the request says of it. */
import type { Identity } from '../model/identity.ts';
import type { CallNodes } from '../model/node.ts';
import { sessionId } from './identity.ts';
import type { Preceding } from './link-messages.ts';

/** A conversation within a session, up to the time of a request. */
export type ConversationUpTo = { session_id: string; conversation_id: string; before: string };

/**
 * What a request continues: an answer by its id, '' when it names none, or else the last answer of a conversation, or else the answer
 * with one of these items, the last first.
 */
export type Continuation = {
  response_id: string;
  conversation: ConversationUpTo | null;
  references: readonly string[];
};

/** The answer that a request continues. `item_ids`: of its parts, where the provider holds them; requests may refer to them. */
export type ContinuedAnswer = Preceding & { item_ids: readonly string[] };

/** An earlier call whose answer a request names. `session_id` is null while that call waits for a session of its own. */
export type PreviousCall = { call_id: string; session_id: string | null; answer: ContinuedAnswer | null };

/** A session that has a name of its own continues only its own calls. */
export const continues = ({ harness_id, harness_session_id }: Identity, { session_id }: PreviousCall): boolean =>
  harness_session_id === '' || session_id === sessionId(harness_id, harness_session_id);

/** The parent of a request that continues a call: the call's answer, or for an empty one the message before it. */
export function lastOf({
  answer,
  messages,
  call,
}: Pick<CallNodes, 'answer' | 'messages' | 'call'>): ContinuedAnswer | null {
  const last = answer ?? messages.findLast(({ injected }) => injected === '') ?? null;
  return last && { node_hash: last.node_hash, depth: last.depth, item_ids: call.item_ids };
}
