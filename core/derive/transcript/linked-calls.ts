/** The calls of one transcript file, each linked to the history that it continues by the hashes of its messages. */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { transcriptKey } from '../../call/call-key.ts';
import { canonicalContent } from '../../harness/canonical-content.ts';
import type { TranscriptCall, TranscriptReading } from '../../harness/harness.ts';
import { injectedKind } from '../../harness/harnesses.ts';
import { noSurroundings } from '../../harness/surroundings.ts';
import { type ChainNode, chain } from '../../merkle/chain.ts';
import type { Message } from '../../model/bucket.ts';
import type { Identity } from '../../model/identity.ts';
import { echoed } from '../../provider/echoed.ts';
import { type FormatId, formatById } from '../../provider/formats.ts';
import type { CallTurn, FreshMessage } from '../turn.ts';

/** A file that counts, as it was read. */
export type CountedTranscript = {
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

/** The prefix distinguishes a transcript's calls from those of the wire wherever only the id is known. */
const PREFIX = 'tx:';

export type HistoryNode = {
  message: FreshMessage;
  depth: number;
  position: number;
  spine: HistoryNode | null; // the last message up to here that is not injected, this one included
};

/** `turn` is without its fresh messages. The last three: what it was made of. */
export type LinkedCall = {
  turn: CallTurn;
  added: HistoryNode[];
  answer: HistoryNode;
  claim: CallClaim;
  call: TranscriptCall;
  place: string;
  after: HistoryNode | null;
};

/**
 * Each call linked to the history that it continues. The history is never copied, so that the cost is linear in the file.
 * @param known the call of an earlier reading: one that is the same and goes on from the same is not hashed again
 */
export function linkedCalls(
  session_id: string,
  { reading, thread_id, raw_turn_id, identity }: CountedTranscript,
  known: (call_id: string) => LinkedCall | undefined,
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
  };
  const place = JSON.stringify(context);
  const file_ended_at = (turn: CallTurn) => reading.last_at ?? turn.requested_at;
  return reading.calls.map((call) => {
    history.length = Math.min(history.length, call.keeps);
    const after = history.at(-1)?.spine ?? null;
    const call_id = callId(identity, thread_id, call.local_id);
    const before = known(call_id);
    if (before && before.after === after && before.place === place && isSame(before, call, history.length)) {
      history.push(...before.added, before.answer);
      return { ...before, claim: { ...before.claim, file_ended_at: file_ended_at(before.turn) } };
    }
    const added = call.added.map(({ message, injected }) => put(message, injectedKind(message) || injected));
    const tip = history.at(-1)?.spine?.message.node_hash ?? null;
    const answer = put({ role: 'assistant', content: call.reply.content }, '');
    const turn = turnOf(call_id, call, context, { tip_hash: tip, leaf_hash: answer.message.node_hash });
    const { request_id, made, is_own, reply } = call;
    const ids = { response_id: reply.response_id, request_id };
    const claim = {
      call_key: transcriptKey(turn.format, ids, { harness_id: identity.harness_id, ...made, usage: reply.usage }),
      call_id,
      is_own,
      file_ended_at: file_ended_at(turn),
    };
    return { turn, added, answer, claim, call, place, after };
  });
}

/** Whether it is the call of that reading, with a history of the same length before it. */
const isSame = ({ added, answer, call: before }: LinkedCall, call: TranscriptCall, length: number): boolean =>
  (added[0] ?? answer).position === length && isDeepStrictEqual(before, call);

type CallContext = Pick<CallTurn, 'session_id' | 'thread_id' | 'raw_turn_id' | 'identity' | 'surroundings'> & {
  format: FormatId; // of the file
};

/** A harness may go from one provider to another within a conversation. */
function calledBy(ofFile: FormatId, { format = ofFile }: TranscriptCall): Pick<CallTurn, 'format' | 'provider'> {
  return { format, provider: formatById(format).provider };
}

const turnOf = (
  call_id: string,
  call: TranscriptCall,
  context: CallContext,
  { tip_hash, leaf_hash }: Pick<CallTurn, 'tip_hash' | 'leaf_hash'>,
): CallTurn => ({
  session_id: context.session_id,
  thread_id: context.thread_id,
  raw_turn_id: context.raw_turn_id,
  identity: context.identity,
  surroundings: context.surroundings,
  ...calledBy(context.format, call),
  call_id,
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
