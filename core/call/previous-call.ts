/** The call that a request continues where the provider keeps the conversation, and what the request says of it. */
import type { Identity } from '../model/identity.ts';
import type { CallNodes } from '../model/node.ts';
import { sessionId } from './identity.ts';
import type { Preceding } from './link-messages.ts';

/** A conversation within a session, up to the time of a request. */
export type ConversationUpTo = { session_id: string; conversation_id: string; before: string };

/** What a request continues: an answer by its id, '' when it names none, or else the last answer of a conversation. */
export type Continuation = { response_id: string; conversation: ConversationUpTo | null };

/** An earlier call whose answer a request names. `session_id` is null while that call waits for a session of its own. */
export type PreviousCall = { call_id: string; session_id: string | null; answer: Preceding | null };

/** A session that has a name of its own continues only its own calls. */
export const continues = ({ harness_id, harness_session_id }: Identity, { session_id }: PreviousCall): boolean =>
  harness_session_id === '' || session_id === sessionId(harness_id, harness_session_id);

/** The parent of a request that continues a call: the call's answer, or for an empty one the message before it. */
export const lastOf = ({ answer, messages }: Pick<CallNodes, 'answer' | 'messages'>): Preceding | null =>
  answer ?? messages.findLast(({ injected }) => injected === '') ?? null;
