/** The calls of a session's transcripts, in the form of captured ones, so that the fold need not know where they come from. */
import { hash } from 'node:crypto';
import { costColumns, type NodeRow } from '../../model/node.ts';
import { toolCallIn } from '../../model/tool-call.ts';
import { noUsage, type Usage } from '../../model/usage.ts';
import type { Priced, PriceOf } from '../../price/prices.ts';
import { formatNamed } from '../../provider/formats.ts';
import { compareKeys, keyOf } from '../order.ts';
import { storable } from '../storable.ts';
import type { CallTurn, FreshMessage } from '../turn.ts';
import {
  type CallClaim,
  type CountedTranscript,
  type HistoryNode,
  type LinkedCall,
  linkedCalls,
} from './linked-calls.ts';

/** A call. `nodes`: those that no call before it holds, made when they are needed: of most calls they are stored already. */
export type TranscriptTurn = { turn: CallTurn; nodes(): NodeRow[]; claim: CallClaim; linked: LinkedCall };

/** `elsewhere`: nodes of a call that counts elsewhere, where they are stored. */
export type CountedTurn = TranscriptTurn & { elsewhere(): NodeRow[] };

/** By call key: the session in which a call counts, where it does not count as a transcript of this session records it. */
export type Inherited = ReadonlyMap<string, string>;

/**
 * The calls, each marked with where it counts. For those that count elsewhere no nodes are stored here. A call that two files of the
 * session hold counts at its first occurrence.
 */
export function countedOnce(session_id: string, turns: readonly TranscriptTurn[], inherited: Inherited): CountedTurn[] {
  const seen = new Set<string>();
  return turns.map((call) => {
    const { call_key } = call.claim;
    const from = inherited.get(call_key) ?? (seen.has(call_key) ? session_id : undefined);
    seen.add(call_key);
    if (from === undefined) return { ...call, elsewhere: noNodes };
    return { ...call, turn: inheritedTurn(call.turn, from), nodes: noNodes, elsewhere: call.nodes };
  });
}

/** The same turn for the same arguments, so that its digest is known. */
function inheritedTurn(turn: CallTurn, inherited_from: string): CallTurn {
  const known = inheritedTurns.get(turn);
  if (known?.inherited_from === inherited_from) return known;
  const inherited = { ...turn, inherited_from };
  inheritedTurns.set(turn, inherited);
  return inherited;
}

const inheritedTurns = new WeakMap<CallTurn, CallTurn>();

const noNodes = (): NodeRow[] => [];

/** The calls of an earlier reading of a session's transcripts, by call id. */
export type KnownTurns = ReadonlyMap<string, Pick<TranscriptTurn, 'turn' | 'linked'>>;

export const knownTurns = (turns: readonly TranscriptTurn[]): KnownTurns =>
  new Map(turns.map(({ turn, linked }) => [turn.call_id, { turn, linked }]));

/**
 * The calls of all files in the order of the fold. The same files give the same calls, whatever has been uploaded before.
 * @param known what has not changed since is taken from there, the turn itself for a call that has not
 */
export function transcriptTurns(
  session_id: string,
  sources: readonly CountedTranscript[],
  priceOf: PriceOf,
  known: KnownTurns = new Map(),
): TranscriptTurn[] {
  const before = (call_id: string) => known.get(call_id)?.linked;
  const first = new Map<string, LinkedCall>(); // a call that branches share occurs once
  for (const source of sources)
    for (const call of linkedCalls(session_id, source, before))
      if (!first.has(call.turn.call_id)) first.set(call.turn.call_id, call);
  const calls = [...first.values()];
  calls.sort((one, other) => compareKeys(keyOf(one.turn), keyOf(other.turn)));
  const seen = new Set<string>();
  const unseen = (hash: string) => !seen.has(hash) && seen.add(hash) !== undefined;
  return calls.map((linked) => {
    const { turn, added, answer, claim } = linked;
    const fresh = added.filter(({ message }) => unseen(message.node_hash));
    const hasAnswer = unseen(answer.message.node_hash);
    const nodes = () => {
      const rows = fresh.map((one) => messageNode(turn, one));
      if (hasAnswer) rows.push(answerNode(turn, answer, priceOf));
      return rows;
    };
    const messages = fresh.map(({ message }) => message);
    return { turn: knownTurn(known, linked, messages) ?? { ...turn, fresh: messages }, nodes, claim, linked };
  });
}

/** The turn of an earlier reading, if the call has not changed since, nor which of its messages are fresh. */
function knownTurn(known: KnownTurns, linked: LinkedCall, fresh: readonly FreshMessage[]): CallTurn | null {
  const before = known.get(linked.turn.call_id);
  if (before?.linked.turn !== linked.turn || before.turn.fresh.length !== fresh.length) return null;
  return before.turn.fresh.every((message, i) => message === fresh[i]) ? before.turn : null;
}

type NodeAttributes = Pick<NodeRow, 'stop_reason' | 'created_at'> & { usage: Usage; priced: Priced | null };

/** One literal: of a row so wide, spread from parts, the copying would cost more than all else in a reading. */
function nodeOf(
  { call_id, model, provider, identity, requested_at }: CallTurn,
  { node_hash, parent_hash, role, injected, content }: FreshMessage,
  { depth, position }: HistoryNode,
  { usage, stop_reason, created_at, priced }: NodeAttributes,
): NodeRow {
  const cost = costColumns(priced?.parts ?? null);
  return {
    node_hash,
    parent_hash,
    depth,
    role,
    injected,
    position,
    call_id,
    provider,
    requested_at,
    tool_calls: content.filter((block) => toolCallIn(block) !== null).length,
    slice_id: null,
    model: storable(model),
    agent_name: identity.agent_name,
    project: identity.project,
    stop_reason,
    created_at,
    cost_usd: priced?.usd ?? null,
    cost_fresh: cost.cost_fresh,
    cost_cache_read: cost.cost_cache_read,
    cost_cache_write_5m: cost.cost_cache_write_5m,
    cost_cache_write_1h: cost.cost_cache_write_1h,
    cost_output: cost.cost_output,
    cost_reasoning: cost.cost_reasoning,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    reasoning_tokens: usage.reasoning_tokens,
  };
}

const messageNode = (turn: CallTurn, node: HistoryNode): NodeRow =>
  nodeOf(turn, node.message, node, {
    usage: noUsage,
    stop_reason: '',
    created_at: turn.requested_at,
    priced: null,
  });

/** The node of an answer, which holds what the call used. */
function answerNode(turn: CallTurn, answer: HistoryNode, priceOf: PriceOf): NodeRow {
  const { reply, provider, model, requested_at, last_byte_at } = turn;
  const usage = reply?.usage ?? null;
  const terms = reply && formatNamed(turn.format)?.terms(reply);
  const priced = usage && priceOf(provider, model, requested_at, usage, terms ?? undefined);
  return nodeOf(turn, answer.message, answer, {
    usage: usage ?? noUsage,
    stop_reason: storable(reply?.stop_reason ?? ''),
    created_at: last_byte_at ?? requested_at,
    priced,
  });
}

/** The digest of what the fold reads of a call: when it is the same, so are the call's rows. Computed once for the same turn. */
export function turnDigest(turn: CallTurn): string {
  const known = digests.get(turn);
  if (known !== undefined) return known;
  const { raw_turn_id: _, ...facts } = turn;
  const digest = hash('sha256', JSON.stringify(facts), 'hex');
  digests.set(turn, digest);
  return digest;
}

const digests = new WeakMap<CallTurn, string>();
