/** Finds the call that a request continues by the provider's id of its answer, conversation or items: in the request's own batch, or stored. */
import { sessionId } from '../../call/identity.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import { type Continuation, type ConversationUpTo, lastOf, type PreviousCall } from '../../call/previous-call.ts';
import { isDistinctive } from '../../call/references.ts';
import type { Database } from '../../db/database.ts';
import type { PreviousAnswer } from '../../db/store/previous-answers.ts';
import type { Identity } from '../../model/identity.ts';

type Client = Pick<PreparedTurn, 'client_key' | 'former_client_key'>;

/** A request as far as this decides what it continues. `identity`: of its session. */
export type Continuing = Continuation & Client & { identity: Identity };

/**
 * The newest call whose answer has this id: of the same client if there is one, since a local server may number its answers anew at
 * each start. Or the newest answered call of the conversation, of any client, that was requested before. Or the call with the last item
 * that the request refers to and that is known: of its session where that is named, else of the same client if there is one. null: none is
 * known, or none is named.
 * @param earlier turns that are to be stored before the request, in their order
 */
export async function findPreviousCall(
  execute: Database['execute'],
  request: Continuing,
  earlier: readonly PreparedTurn[],
): Promise<PreviousCall | null> {
  const { response_id, conversation } = request;
  if (response_id === '')
    return conversation ? lastCall(execute, conversation, earlier) : referencedCall(execute, request, earlier);
  const own = ofClient(request);
  const candidates = earlier.filter(({ nodes }) => nodes.call.response_id === response_id);
  const batched = candidates.findLast(own);
  if (batched) return inBatch(batched);
  const stored = await execute('previousAnswers', { response_id });
  const found = stored.find(own);
  const foreign = candidates.at(-1);
  if (!found && foreign) return inBatch(foreign);
  return inStore(found ?? stored[0]);
}

const ofClient =
  ({ client_key, former_client_key }: Client) =>
  (call: Client): boolean =>
    call.client_key === client_key || call.client_key === former_client_key;

async function referencedCall(
  execute: Database['execute'],
  request: Continuing,
  earlier: readonly PreparedTurn[],
): Promise<PreviousCall | null> {
  const { references, client_key, former_client_key } = request;
  if (references.length === 0) return null;
  const session_id = namedSession(request.identity);
  const isOwnClient = ofClient(request);
  const isOwn = (call: Client & { session_id: string | null }) =>
    session_id === null ? isOwnClient(call) : call.session_id === session_id;
  const client_keys = former_client_key ? [client_key, former_client_key] : [client_key];
  const named = { item_ids: [...references], of_any: references.filter(isDistinctive), client_keys, session_id };
  const stored = await execute('referencedAnswers', named);
  for (const id of references) {
    const batched = earlier.filter(({ nodes }) => nodes.call.item_ids.includes(id));
    const known = stored.filter(({ item_ids }) => item_ids.includes(id));
    const newest = batched.findLast((call) => isOwn({ ...call, session_id: namedSession(call.identity) }));
    const own = newest ? inBatch(newest) : inStore(known.find(isOwn));
    if (own) return own;
    if (session_id !== null || !isDistinctive(id)) continue;
    const foreign = batched.at(-1);
    const any = foreign ? inBatch(foreign) : inStore(known[0]);
    if (any) return any;
  }
  return null;
}

/** null: the caller did not name it. */
const namedSession = ({ harness_id, harness_session_id }: Identity): string | null =>
  harness_session_id === '' ? null : sessionId(harness_id, harness_session_id);

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
        answer: found.node_hash ? { node_hash: found.node_hash, depth: found.depth, item_ids: found.item_ids } : null,
      }
    : null;

function inBatch({ call_id, identity, nodes }: PreparedTurn): PreviousCall {
  return { call_id, session_id: namedSession(identity), answer: lastOf(nodes) };
}
