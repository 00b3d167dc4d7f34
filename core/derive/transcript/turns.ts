/** The calls of a session's transcripts, in the form of captured ones, so that the fold need not know where they come from. */
import { hash } from 'node:crypto';
import { transcriptKey } from '../../call/call-key.ts';
import { canonicalContent } from '../../harness/canonical-content.ts';
import type { TranscriptCall, TranscriptReading } from '../../harness/harness.ts';
import { injectedKind } from '../../harness/harnesses.ts';
import { noSurroundings } from '../../harness/surroundings.ts';
import { type ChainNode, chain } from '../../merkle/chain.ts';
import type { Message } from '../../model/bucket.ts';
import type { Identity } from '../../model/identity.ts';
import { costColumns, type NodeRow } from '../../model/node.ts';
import { noUsage, type Usage } from '../../model/usage.ts';
import type { Priced, PriceOf } from '../../price/prices.ts';
import { echoed } from '../../provider/echoed.ts';
import { formatById, formatNamed } from '../../provider/formats.ts';
import { compareKeys, keyOf } from '../order.ts';
import { storable } from '../storable.ts';
import type { CallTurn, FreshMessage } from '../turn.ts';

/** A file that counts, as it was read. */
export type TranscriptSource = {
  reading: TranscriptReading;
  thread_id: string; // '' of the main file
  raw_turn_id: number; // of the first version of the file, so that growth changes nothing
  identity: Identity; // of the session that it is uploaded for
};

/** A session's claim to a call that its transcript holds: the call's key, and how good the claim is. */
export type CallClaim = {
  call_key: string; // call/call-key.ts
  call_id: string;
  is_own: boolean; // the file says that its session made the call
  file_ended_at: string; // its latest record: a copy of the file has later ones
};

/** A call with the nodes that no call before it holds. */
export type TranscriptTurn = { turn: CallTurn; nodes: NodeRow[]; claim: CallClaim };

/** `elsewhere`: nodes of a call that counts elsewhere, where they are stored. */
export type CountedTurn = TranscriptTurn & { elsewhere: NodeRow[] };

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
    if (from === undefined) return { ...call, elsewhere: [] };
    return { ...call, turn: { ...call.turn, inherited_from: from }, nodes: [], elsewhere: call.nodes };
  });
}

/** The prefix distinguishes a transcript's calls from those of the wire wherever only the id is known. */
const PREFIX = 'tx:';

/** The calls of all files in the order of the fold. The same files give the same calls, whatever has been uploaded before. */
export function transcriptTurns(
  session_id: string,
  sources: readonly TranscriptSource[],
  priceOf: PriceOf,
): TranscriptTurn[] {
  const first = new Map<string, LinkedCall>(); // a call that branches share occurs once
  for (const source of sources)
    for (const call of linkedCalls(session_id, source))
      if (!first.has(call.turn.call_id)) first.set(call.turn.call_id, call);
  const calls = [...first.values()];
  calls.sort((one, other) => compareKeys(keyOf(one.turn), keyOf(other.turn)));
  const seen = new Set<string>();
  const unseen = (hash: string) => !seen.has(hash) && seen.add(hash) !== undefined;
  return calls.map(({ turn, added, answer, claim }) => {
    const fresh = added.filter(({ message }) => unseen(message.node_hash));
    const nodes = fresh.map((one) => messageNode(turn, one));
    if (answer && unseen(answer.message.node_hash)) nodes.push(answerNode(turn, answer, priceOf));
    return { turn: { ...turn, fresh: fresh.map(({ message }) => message) }, nodes, claim };
  });
}

type HistoryNode = {
  message: FreshMessage;
  depth: number;
  position: number;
  spine: HistoryNode | null; // the last message up to here that is not injected, this one included
};
type LinkedCall = { turn: CallTurn; added: HistoryNode[]; answer: HistoryNode | null; claim: CallClaim };

/** Each call linked to the history that it continues. The history is never copied, so that the cost is linear in the file. */
function linkedCalls(
  session_id: string,
  { reading, thread_id, raw_turn_id, identity }: TranscriptSource,
): LinkedCall[] {
  const format = formatById(reading.format);
  const history: HistoryNode[] = [];
  const put = (message: Message, injected: string): HistoryNode => {
    const after = history.at(-1)?.spine ?? null;
    const canonical = canonicalContent(echoed(format, message));
    const parent = after && { hash: after.message.node_hash, depth: after.depth };
    const [node] = chain([{ canonical, injected }], parent ?? undefined) as [ChainNode];
    const { node_hash, parent_hash, depth } = node;
    const linked = { ...message, node_hash, parent_hash, injected };
    const entry: HistoryNode = { message: linked, depth, position: history.length, spine: after };
    if (injected === '') entry.spine = entry;
    history.push(entry);
    return entry;
  };
  const context: CallContext = {
    session_id,
    thread_id,
    raw_turn_id,
    identity: { ...identity, cwd: identity.cwd || reading.cwd },
    surroundings: { ...noSurroundings, git_branch: reading.git_branch },
    format: reading.format,
    provider: format.provider,
  };
  return reading.calls.map((call) => {
    history.length = Math.min(history.length, call.keeps);
    const added = call.added.map(({ message, injected }) => put(message, injectedKind(message) || injected));
    const tip = history.at(-1)?.spine?.message.node_hash ?? null;
    const answer = put({ role: 'assistant', content: call.reply.content }, '');
    const turn = turnOf(call, context, { tip_hash: tip, leaf_hash: answer.message.node_hash });
    const { request_id, made, is_own, reply } = call;
    const ids = { response_id: reply.response_id, request_id };
    const place = { harness_id: identity.harness_id, ...made, usage: reply.usage };
    const claim = {
      call_key: transcriptKey(reading.format, ids, place),
      call_id: turn.call_id,
      is_own,
      file_ended_at: reading.last_at ?? turn.requested_at,
    };
    return { turn, added, answer, claim };
  });
}

type CallContext = Pick<
  CallTurn,
  'session_id' | 'thread_id' | 'raw_turn_id' | 'identity' | 'surroundings' | 'format' | 'provider'
>;

const turnOf = (
  call: TranscriptCall,
  context: CallContext,
  { tip_hash, leaf_hash }: Pick<CallTurn, 'tip_hash' | 'leaf_hash'>,
): CallTurn => ({
  session_id: context.session_id,
  thread_id: context.thread_id,
  raw_turn_id: context.raw_turn_id,
  identity: context.identity,
  surroundings: context.surroundings,
  format: context.format,
  provider: context.provider,
  call_id: callId(context.identity, context.thread_id, call.local_id),
  source: 'transcript',
  kind: 'main',
  judged: '',
  outcome: call.ending === 'complete' ? 'captured' : 'partial',
  ending: call.ending,
  status: 200,
  model: call.reply.model,
  stream: false,
  max_tokens: null,
  tool_count: 0,
  requested_at: call.requested_at,
  first_byte_at: null,
  last_byte_at: call.ended_at,
  retry_count: 0,
  fresh: [],
  tip_hash,
  leaf_hash,
  reply: call.reply,
});

/** The id of a call: of its identity and not of its position, so that it stays the same when its file grows. An agent may be named main. */
function callId({ harness_id, harness_session_id }: Identity, thread_id: string, local_id: string): string {
  const thread = thread_id === '' ? { main: true } : { main: false, agent_id: thread_id };
  const identifiers = { version: 1, harness_id, harness_session_id, ...thread, local_id };
  return `${PREFIX}${hash('sha256', JSON.stringify(identifiers), 'hex').slice(0, 32)}`;
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
    tool_calls: content.filter(({ type }) => type === 'tool_use' || type === 'server_tool_use').length,
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

/** The digest of what the fold reads of a call: when it is the same, so are the call's rows. */
export const turnDigest = ({ raw_turn_id: _, ...facts }: CallTurn): string =>
  hash('sha256', JSON.stringify(facts), 'hex');
