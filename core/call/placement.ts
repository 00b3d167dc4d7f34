/** Placement: which session a call belongs to (README.md beside it). Pure; `core/db/store/place-turns.ts` fetches the facts. */
import type { Identity } from '../model/identity.ts';
import type { CallNodes } from '../model/node.ts';
import { type ChainMessage, type ConversationPlacement, type KnownNode, placeConversation } from './conversation.ts';
import { sessionId } from './identity.ts';
import { isDistinctive } from './references.ts';

/** What placing reads of a call. `client_key` is hex; the former one is that of the client's sessions of version 0.1. */
export type Unplaced = {
  call_id: string;
  client_key: string;
  former_client_key?: string;
  identity: Identity;
  retry: boolean; // the client marked the request as a retry
  requested_at: string;
  nodes: CallNodes;
};

/** A session, and the names that its id is made of. */
export type SessionKey = { session_id: string; harness_id: string; harness_session_id: string };

export type Placement = SessionKey & {
  fork: { session_id: string; node_hash: string } | null;
  /** A call of the session has waited for this one: the session's messages have to be linked anew. */
  awaited: boolean;
  /** Unnamed sessions that this turn shows to be part of its own: calls of theirs waited for its response. */
  merges: readonly string[];
};

/** A message of one of the client's unnamed sessions. */
export type ClientNode = KnownNode & {
  opened_by: string; // the request that opened the session, and its key
  /** For an answer whose own call is not known: when a request first contained it; else null. */
  shown_at: string | null;
};

/** Of one client: by the message's hash, then by session. */
export type ClientNodes = Map<string, Map<string, ClientNode>>;

/** A call that continues a response which has not come. `unnamed`: its session has no other name than the request that opened it. */
export type WaitingCall = { session: SessionKey; unnamed: boolean; requested_at: string };

/** What is known of other calls. Each call that is placed is added, for those after it in the batch. */
export type PlacementFacts = {
  clients: Map<string, ClientNodes>; // by `client_key`
  followed: Map<string, SessionKey>; // the sessions of calls that others continue by the provider's id, by call id
  awaited: Map<string, WaitingCall[]>; // by `awaitedKeys`, the oldest first
};

/** A call with what the facts hold about it. What costs time is looked up once, by the first rule that needs it. */
type Candidate = {
  turn: Unplaced;
  named: SessionKey | null;
  followed: SessionKey | null;
  waiting: WaitingCall | null; // a call of the client that waits for this one's response and was sent after it
  conversation(): Conversation;
  /** The client's session that has this call's answer in a request that was sent after this call. */
  showing(): ClientNode | null;
};

/** What its messages show, and a message of the session that they continue. */
type Conversation = { found: ConversationPlacement; joined: ClientNode | null };

/** The session, and as far as it is one that the client never named, what is known of its opening. */
type Decision = { session: SessionKey; fork?: Placement['fork']; joined?: ClientNode };

export type PlacementRule = 'named' | 'protocol' | 'continued' | 'shown' | 'fork' | 'awaited' | 'new';

/** The first rule that yields a session decides. */
const RULES: readonly [PlacementRule, (call: Candidate) => Decision | null][] = [
  // The envelope or the harness names the session, or the provider the conversation.
  ['named', ({ named }) => named && { session: named }],
  // The request names the response that it continues (`previous_response_id`, or a thread's message) or refers to items of it, and that
  // call is known.
  ['protocol', ({ followed }) => followed && { session: followed }],
  // Its messages contain the head of one of the client's conversations, with an answer at or before it.
  ['continued', ({ conversation }) => joining(conversation().joined)],
  // Its answer is in a request that came earlier although it was sent later: that conversation went on from this call.
  ['shown', ({ showing }) => joining(showing())],
  // Its messages leave one of the client's conversations at a message that others have followed.
  ['fork', ({ turn, conversation }) => forking(turn, conversation().found)],
  // A call of the client that was sent after this one waits for its response. (Another client's goes to the session of this one.)
  ['awaited', ({ waiting }) => waiting && { session: waiting.session }],
  // Nothing is known of it: it opens a conversation, which is named by this request.
  ['new', ({ turn }) => ({ session: openedBy(turn.call_id) })],
];

const joining = (joined: ClientNode | null): Decision | null =>
  joined && { session: openedBy(joined.opened_by), joined };

const forking = (turn: Unplaced, found: ConversationPlacement): Decision | null =>
  found.kind === 'fork'
    ? { session: openedBy(turn.call_id), fork: { session_id: found.session_id, node_hash: found.node_hash } }
    : null;

const openedBy = (request_id: string): SessionKey => keyOf('unknown', request_id);

const keyOf = (harness_id: string, harness_session_id: string): SessionKey => ({
  session_id: sessionId(harness_id, harness_session_id),
  harness_id,
  harness_session_id,
});

/** In the given order; each placement takes the calls before it into account, which `facts` hold afterwards. */
export const placeCalls = (turns: readonly Unplaced[], facts: PlacementFacts): Placement[] =>
  turns.map((turn) => placeCall(turn, facts).placement);

/** Places one call and adds it to the facts. */
export function placeCall(turn: Unplaced, facts: PlacementFacts): { rule: PlacementRule; placement: Placement } {
  const named = namedSession(turn.identity);
  const own = waitingFor(turn, named, facts);
  const waiting = [...own, ...waitingElsewhere(turn, own, facts)];
  // A server may number its responses anew at each start: a call that was sent before this one continues an older response.
  const isLater = ({ requested_at }: WaitingCall) => requested_at > turn.requested_at;
  const { rule, decision } = decide(candidate(turn, named, own.find(isLater) ?? null, facts));
  const { session, fork = null } = decision;
  if (rule !== 'named' && rule !== 'protocol') addToClient(turn, decision, facts);
  facts.followed.set(turn.call_id, session);
  addWaiting(turn, named, session, facts);
  const linked = waiting.filter((call) => isLater(call) && call.unnamed).map((call) => call.session.session_id);
  const merges = [...new Set(linked)].filter((session_id) => session_id !== session.session_id);
  const isOwn = waiting.some((call) => call.session.session_id === session.session_id);
  const awaited = merges.length > 0 || isOwn || (rule === 'named' && waiting.length > 0);
  return { rule, placement: { ...session, fork, awaited, merges } };
}

function decide(call: Candidate): { rule: PlacementRule; decision: Decision } {
  for (const [rule, apply] of RULES) {
    const decision = apply(call);
    if (decision) return { rule, decision };
  }
  throw new Error('Cannot place a call: no rule applies');
}

const namedSession = ({ harness_id, harness_session_id }: Identity): SessionKey | null =>
  harness_session_id === '' ? null : keyOf(harness_id, harness_session_id);

function candidate(
  turn: Unplaced,
  named: SessionKey | null,
  waiting: WaitingCall | null,
  { clients, followed }: PlacementFacts,
): Candidate {
  const nodes: ClientNodes = clients.get(turn.client_key) ?? new Map();
  let conversation: Conversation | undefined;
  return {
    ...{ turn, named, waiting, followed: followed.get(turn.identity.continues_call_id ?? '') ?? null },
    conversation: () => {
      conversation ??= conversationOf(turn, nodes);
      return conversation;
    },
    showing: () => sessionShowingAnswer(turn, nodes),
  };
}

function conversationOf(turn: Unplaced, known: ClientNodes): Conversation {
  const chain = spine(turn.nodes);
  const members = chain.flatMap(({ node_hash }) => [...(known.get(node_hash)?.values() ?? [])]);
  const found = placeConversation(chain, members, turn.retry);
  const joined = found.kind === 'continue' && members.find(({ session_id }) => session_id === found.session_id);
  return { found, joined: joined || null };
}

/** The messages of the request, without those that a harness injects. */
export const spine = (nodes: CallNodes): ChainMessage[] => nodes.messages.filter(({ injected }) => injected === '');

/** The session that continued from this call's answer before the call itself came: the oldest one, since others are its forks. */
function sessionShowingAnswer({ nodes, requested_at }: Unplaced, known: ClientNodes): ClientNode | null {
  const holders = nodes.answer ? [...(known.get(nodes.answer.node_hash)?.values() ?? [])] : [];
  const [oldest] = holders
    .filter(({ shown_at }) => shown_at !== null && requested_at < shown_at)
    .sort((a, b) => (a.started_at === b.started_at ? 0 : a.started_at < b.started_at ? -1 : 1));
  return oldest ?? null;
}

/** A call waits for a response, by its id or that of an item, within the session that its caller named, or else of its client. */
export const awaitedKey = (named: SessionKey | null, client_key: string, id: string) =>
  `${named?.session_id ?? client_key} ${id}`;

const anywhereKey = (id: string) => `any ${id}`;

/** All keys of a waiting call: one that names no session waits for a distinctive id of any client too, as it would continue one. */
export const awaitedKeys = (named: SessionKey | null, client_key: string, id: string): string[] => [
  awaitedKey(named, client_key, id),
  ...(named === null && isDistinctive(id) ? [anywhereKey(id)] : []),
];

/** The ids by which calls may wait for this one. */
export const answerIds = ({ nodes: { call } }: Pick<Unplaced, 'nodes'>): string[] =>
  [call.response_id, ...call.item_ids].filter((id) => id !== '');

const waitingFor = (turn: Unplaced, named: SessionKey | null, { awaited }: PlacementFacts) =>
  [...new Set([named, null])].flatMap((scope) =>
    answerIds(turn).flatMap((id) => awaited.get(awaitedKey(scope, turn.client_key, id)) ?? []),
  );

/** Calls of other clients that wait for this one. Each continues one call, so the next one with such an item finds none of them. */
function waitingElsewhere(turn: Unplaced, own: readonly WaitingCall[], { awaited }: PlacementFacts): WaitingCall[] {
  const keys = answerIds(turn).filter(isDistinctive).map(anywhereKey);
  const found = keys.flatMap((key) => awaited.get(key) ?? []).filter((call) => !own.includes(call));
  for (const key of keys) awaited.delete(key);
  return found;
}

/** A call whose predecessor is not known waits for it; so does one that continues an older answer, since the one it refers to is not known. */
function addWaiting(turn: Unplaced, named: SessionKey | null, session: SessionKey, { awaited }: PlacementFacts): void {
  const { previous_response_id, item_reference } = turn.nodes.call;
  const id = turn.identity.continues_call_id === undefined ? previous_response_id || item_reference : item_reference;
  if (id === '') return;
  const waiting = { session, unnamed: isUnnamed(named !== null, session), requested_at: turn.requested_at };
  for (const key of awaitedKeys(named, turn.client_key, id)) addTo(awaited, key, waiting);
}

export const isUnnamed = (named: boolean, { harness_id }: SessionKey): boolean => !named && harness_id === 'unknown';

export function addTo<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function addToClient(turn: Unplaced, { session, joined }: Decision, { clients }: PlacementFacts): void {
  const known: ClientNodes = clients.get(turn.client_key) ?? new Map();
  clients.set(turn.client_key, known);
  const { nodes, requested_at } = turn;
  const links = nodes.answer ? [...spine(nodes), nodes.answer] : spine(nodes);
  const { session_id, harness_session_id: opened_by } = session;
  const started_at = joined?.started_at ?? requested_at;
  for (const [index, { node_hash, role }] of links.entries()) {
    const sessions = known.get(node_hash) ?? new Map<string, ClientNode>();
    known.set(node_hash, sessions);
    const existing = sessions.get(session_id);
    const is_head = index === links.length - 1;
    if (existing && !is_head) existing.is_head = false;
    if (existing && nodes.answer?.node_hash === node_hash) existing.shown_at = null;
    if (existing) continue;
    const shown_at = role === 'assistant' && links[index] !== nodes.answer ? requested_at : null;
    sessions.set(session_id, { session_id, started_at, opened_by, node_hash, role, is_head, shown_at });
  }
}
