/** Finds the call that a request continues by the provider's id of its answer or conversation: in the request's own batch, or stored. */
import { sessionId } from '../../call/identity.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import { type Continuation, type ConversationUpTo, lastOf, type PreviousCall } from '../../call/previous-call.ts';
import type { Database } from '../../db/database.ts';
import type { PreviousAnswer } from '../../db/store/previous-answers.ts';

type Client = Pick<PreparedTurn, 'client_key' | 'former_client_key'>;

/**
 * The newest call whose answer has this id: of the same client if there is one, since a local server may number its answers anew at
 * each start. Or the newest answered call of the conversation, of any client, that was requested before. null: none is known, or none
 * is named.
 * @param earlier turns that are to be stored before the request, in their order
 */
export async function findPreviousCall(
  execute: Database['execute'],
  { response_id, conversation, client_key, former_client_key }: Continuation & Client,
  earlier: readonly PreparedTurn[],
): Promise<PreviousCall | null> {
  if (response_id === '') return conversation && lastCall(execute, conversation, earlier);
  const own = (call: Client) => call.client_key === client_key || call.client_key === former_client_key;
  const candidates = earlier.filter(({ nodes }) => nodes.call.response_id === response_id);
  const batched = candidates.findLast(own);
  if (batched) return inBatch(batched);
  const stored = await execute('previousAnswers', { response_id });
  const found = stored.find(own);
  const foreign = candidates.at(-1);
  if (!found && foreign) return inBatch(foreign);
  return inStore(found ?? stored[0]);
}

async function lastCall(
  execute: Database['execute'],
  conversation: ConversationUpTo,
  earlier: readonly PreparedTurn[],
): Promise<PreviousCall | null> {
  const { session_id, conversation_id, before } = conversation;
  const batched = earlier.findLast(
    ({ nodes: { answer, call }, requested_at, identity }) =>
      answer !== null &&
      call.conversation_id === conversation_id &&
      requested_at < before &&
      sessionId(identity.harness_id, identity.harness_session_id) === session_id,
  );
  if (batched) return inBatch(batched);
  const [last] = await execute('lastAnswers', conversation);
  return inStore(last);
}

const inStore = (found: PreviousAnswer | undefined): PreviousCall | null =>
  found
    ? {
        call_id: found.call_id,
        session_id: found.session_id,
        answer: found.node_hash ? { node_hash: found.node_hash, depth: found.depth } : null,
      }
    : null;

function inBatch({ call_id, identity, nodes }: PreparedTurn): PreviousCall {
  const { harness_id, harness_session_id } = identity;
  const session_id = harness_session_id === '' ? null : sessionId(harness_id, harness_session_id);
  return { call_id, session_id, answer: lastOf(nodes) };
}
