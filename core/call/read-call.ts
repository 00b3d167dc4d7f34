/** Reads a call: its messages as a chain of hashes, what it asked for, what was answered, and what that cost. */

import { callPurpose, surroundingsOf } from '../harness/harnesses.ts';
import { agentName } from '../harness/libraries.ts';
import { noSurroundings } from '../harness/surroundings.ts';
import { headerOf } from '../model/headers.ts';
import type { CallNodes } from '../model/node.ts';
import type { Reply } from '../model/reply.ts';
import { noUsage } from '../model/usage.ts';
import type { WireFormat } from '../provider/format.ts';
import type { FormatId } from '../provider/formats.ts';
import { providerKey } from './call-key.ts';
import { boundedId } from './identity.ts';
import { leafOf } from './link-messages.ts';
import type { ReadingMemory } from './memory.ts';
import type { OpenedRequest } from './open-request.ts';
import type { ContinuedAnswer } from './previous-call.ts';
import { type AnswerBytes, readAnswer } from './read-answer.ts';
import { type RequestRead, readRequest, unreadableRequest } from './read-request.ts';
import type { Reader } from './reader.ts';

/** What is known of a call without reading its bodies. Instants are UTC with microseconds. */
export type CallFacts = {
  format: FormatId | null; // null: none that we can read
  call_id: string;
  harness_id: string;
  provider: string;
  agent_name: string;
  project: string;
  requested_at: string;
  last_byte_at: string | null;
};

export type CallBodies = { request: OpenedRequest; answer: AnswerBytes | null };

export type ReadCall = CallNodes &
  Pick<RequestRead, 'unreadable' | 'own_slices' | 'asks_nothing'> & {
    reply: Reply | null;
    answer_unreadable: string | null;
  };

/**
 * Reads a call. Whatever its bodies hold, there is a result: an unreadable request has no messages, an unreadable answer no leaf.
 * The same call gives the same nodes at any time, so they can be deleted and made again.
 */
export function readCall(
  { formatById, priceOf, answers }: Reader,
  facts: CallFacts,
  { request, answer }: CallBodies,
  memory: ReadingMemory,
  preceding: ContinuedAnswer | null = null,
): ReadCall {
  const format = facts.format && formatById(facts.format);
  const parsed = format ? readRequest(format, request, memory, preceding) : unreadableRequest(unknownFormat.unreadable);
  const { reply, unreadable: answer_unreadable } = format ? readAnswer(format, answer, answers) : unknownFormat;
  const tip = parsed.messages.findLast(({ injected }) => injected === '') ?? null;
  const { head, unreadable } = parsed;
  const isRead = format && unreadable === null && request.cut;
  const leaf = isRead && reply && reply.content.length > 0 ? leafOf(format, tip ?? preceding, reply) : null;
  const model = reply?.model || (head?.model ?? '');
  const usage = reply?.usage ?? null;
  const priced =
    format && reply && usage && priceOf(facts.provider, model, facts.requested_at, usage, format.terms(reply));
  const { harness_id } = facts;
  const traits = head && { harness_id, ...head, ...parsed.traits, reply };
  const { kind, judged } = traits ? callPurpose(traits) : noPurpose;
  const surroundings = traits && kind === 'main' ? surroundingsOf(traits) : noSurroundings;
  return {
    call: {
      tip_hash: tip?.node_hash ?? null,
      leaf_hash: leaf?.node_hash ?? null,
      model: head?.model ?? '',
      stream: head?.stream ?? false,
      max_tokens: head?.max_tokens ?? null,
      tool_count: head?.tool_count ?? 0,
      call_key:
        reply && facts.format && providerKey(facts.format, { ...reply, request_id: requestIdOf(format, answer) }),
      response_id: boundedId(reply?.response_id ?? ''),
      previous_response_id: boundedId(head?.previous_response_id ?? ''),
      item_ids: reply?.item_ids ?? [],
      item_reference: unknownReference(request, preceding),
      conversation_id: boundedId(head?.conversation_id ?? ''),
      unreadable: unreadable ?? '',
      kind,
      judged,
      ...surroundings,
    },
    messages: parsed.messages,
    answer: leaf,
    call_id: facts.call_id,
    model,
    provider: facts.provider,
    agent_name: agentName(facts.agent_name, surroundings.agent_name),
    project: facts.project,
    stop_reason: reply?.stop_reason ?? '',
    usage: usage ?? noUsage,
    cost_usd: priced?.usd ?? null,
    cost_parts: priced?.parts ?? null,
    requested_at: facts.requested_at,
    answered_at: facts.last_byte_at ?? facts.requested_at,
    reply,
    unreadable,
    answer_unreadable,
    asks_nothing: parsed.asks_nothing,
    own_slices: parsed.own_slices,
  };
}

/** The item that a request refers to last, where the answer that it continues has no such item; ''. */
const unknownReference = ({ references: [last = ''] }: OpenedRequest, preceding: ContinuedAnswer | null): string =>
  preceding?.item_ids.includes(last) ? '' : last;

/** '' where the provider gives none. */
const requestIdOf = (format: WireFormat | null, answer: AnswerBytes | null): string =>
  (format?.requestIdHeader && answer && headerOf(answer.headers, format.requestIdHeader)) || '';

const noPurpose = { kind: 'main', judged: '' } as const;
const unknownFormat = { reply: null, unreadable: 'Cannot read the call: it is in no format that is known here' };
