/** The rules by which a call finds its session: each decides where those before it do not, and none where an earlier one does. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sessionId } from '../../../core/call/identity.ts';
import {
  addTo,
  awaitedKey,
  type ClientNode,
  type PlacementFacts,
  type PlacementRule,
  placeCall,
  placeCalls,
  type SessionKey,
  type Unplaced,
} from '../../../core/call/placement.ts';
import type { LinkedMessage } from '../../../core/model/node.ts';

const test = suite('placement');

const CLIENT = 'c1';

const message = (node_hash: string, injected = ''): LinkedMessage => ({
  ...{ node_hash, parent_hash: null, depth: 1, injected, tool_calls: 0, slice_id: null },
  role: node_hash.startsWith('a') ? 'assistant' : 'user',
});

type Given = {
  id?: string;
  says?: string[];
  answer?: string | null;
  session?: string; // as its client names it
  continues?: string; // the call whose response it names, known
  awaits?: string; // the response that it names
  refers?: string; // an item of an answer that it does not continue
  response?: string;
  items?: string[]; // of its answer
  at?: string;
  retry?: boolean;
  client?: string;
};

function call(given: Given): Unplaced {
  const { id = 'call', says = ['u:hi'], answer = null, session = '', at = '2026-01-01T00:00:05Z' } = given;
  const identity = { harness_id: session === '' ? 'unknown' : 'claude', harness_session_id: session };
  return {
    call_id: id,
    client_key: given.client ?? CLIENT,
    identity: { ...identity, ...(given.continues && { continues_call_id: given.continues }) },
    retry: given.retry ?? false,
    requested_at: at,
    nodes: {
      messages: says.map((hash) => message(hash)),
      answer: answer && message(answer),
      call: {
        ...{ response_id: given.response ?? '', previous_response_id: given.awaits ?? '' },
        ...{ item_ids: given.items ?? [], item_reference: given.refers ?? '' },
      },
    },
  } as Unplaced;
}

const opened = (request_id: string): SessionKey => ({
  session_id: sessionId('unknown', request_id),
  harness_id: 'unknown',
  harness_session_id: request_id,
});

const node = (by: string, node_hash: string, given: Partial<ClientNode> = {}): ClientNode => ({
  session_id: opened(by).session_id,
  role: node_hash.startsWith('a') ? 'assistant' : 'user',
  ...{ node_hash, opened_by: by, is_head: true, shown_at: null, started_at: '2026-01-01T00:00:00Z', ...given },
});

function facts(
  given: { nodes?: ClientNode[]; followed?: Record<string, SessionKey>; awaited?: [string, SessionKey, string][] } = {},
): PlacementFacts {
  const nodes = new Map<string, Map<string, ClientNode>>();
  for (const one of given.nodes ?? []) {
    const sessions = nodes.get(one.node_hash) ?? new Map<string, ClientNode>();
    nodes.set(one.node_hash, sessions.set(one.session_id, one));
  }
  const awaited: PlacementFacts['awaited'] = new Map();
  for (const [response_id, session, requested_at] of given.awaited ?? [])
    addTo(awaited, awaitedKey(null, CLIENT, response_id), { session, unnamed: true, requested_at });
  return { clients: new Map([[CLIENT, nodes]]), followed: new Map(Object.entries(given.followed ?? {})), awaited };
}

/** What every rule could use: each case below takes the rule before it away. */
const everything = () => ({
  nodes: [node('open', 'u:hi', { is_head: false }), node('open', 'a:hello'), node('forked', 'a:well')],
  followed: { before: opened('protocol') },
  awaited: [['resp_1', opened('waits'), '2026-01-01T00:00:09Z']] as [string, SessionKey, string][],
});
const HISTORY = ['u:hi', 'a:hello', 'u:more'];

type Case = [rule: PlacementRule, why: string, given: Given, known: PlacementFacts, session: SessionKey];

const RULES: Case[] = [
  [
    'named',
    'the client names the session, whatever else is known',
    { session: 's', says: HISTORY, continues: 'before', response: 'resp_1' },
    facts(everything()),
    { session_id: sessionId('claude', 's'), harness_id: 'claude', harness_session_id: 's' },
  ],
  [
    'protocol',
    'the call that it continues is known',
    { says: HISTORY, continues: 'before', response: 'resp_1' },
    facts(everything()),
    opened('protocol'),
  ],
  [
    'continued',
    'its messages contain the head of a conversation',
    { says: HISTORY, response: 'resp_1' },
    facts(everything()),
    opened('open'),
  ],
  [
    'continued',
    'a call that is continued by the protocol but not known counts by its messages',
    { says: HISTORY, continues: 'unknown to us' },
    facts(everything()),
    opened('open'),
  ],
  [
    'continued',
    'the retry of an opening that nobody has answered',
    { says: ['u:hi'], retry: true },
    facts({ nodes: [node('open', 'u:hi')] }),
    opened('open'),
  ],
  [
    'shown',
    'its answer is in a request that was sent later and came earlier',
    { says: ['u:hi'], answer: 'a:late' },
    facts({ nodes: [node('open', 'a:late', { shown_at: '2026-01-01T00:00:06Z' })] }),
    opened('open'),
  ],
  [
    'fork',
    'it leaves a conversation at a message that others have followed',
    { id: 'own', says: HISTORY, response: 'resp_1' },
    facts({ ...everything(), nodes: [node('open', 'a:hello', { is_head: false })] }),
    opened('own'),
  ],
  [
    'awaited',
    'a call that was sent later waits for its response',
    { response: 'resp_1' },
    facts({ awaited: everything().awaited }),
    opened('waits'),
  ],
  ['new', 'nothing is known of it', { id: 'own' }, facts(), opened('own')],
  [
    'new',
    'equal opening messages prove nothing',
    { id: 'own', says: ['u:hi'] },
    facts({ nodes: [node('open', 'u:hi')] }),
    opened('own'),
  ],
  [
    'new',
    'a call that was sent before waits for an older response of that number',
    { id: 'own', response: 'resp_1' },
    facts({ awaited: [['resp_1', opened('waits'), '2026-01-01T00:00:01Z']] }),
    opened('own'),
  ],
  [
    'new',
    'an answer that a request showed before this call was sent is another call’s',
    { id: 'own', answer: 'a:late' },
    facts({ nodes: [node('open', 'a:late', { shown_at: '2026-01-01T00:00:04Z' })] }),
    opened('own'),
  ],
  [
    'new',
    'conversations of other clients do not count',
    { id: 'own', says: HISTORY, client: 'c2' },
    facts(everything()),
    opened('own'),
  ],
];

for (const [rule, why, given, known, session] of RULES)
  test(`${rule}: ${why}`, () => {
    const { rule: applied, placement } = placeCall(call(given), known);
    assert.is(applied, rule);
    const { session_id, harness_id, harness_session_id } = placement;
    assert.equal({ session_id, harness_id, harness_session_id }, session);
    assert.is(placement.fork !== null, rule === 'fork');
  });

test('each rule is in the table', () => {
  const rules: PlacementRule[] = ['named', 'protocol', 'continued', 'shown', 'fork', 'awaited', 'new'];
  assert.equal([...new Set(RULES.map(([rule]) => rule))], rules);
});

test('a fork names the message that it leaves from', () => {
  const { placement } = placeCall(
    call({ says: HISTORY }),
    facts({ nodes: [node('open', 'a:hello', { is_head: false })] }),
  );
  assert.equal(placement.fork, { session_id: opened('open').session_id, node_hash: 'a:hello' });
});

test('the calls of a batch see those before them', () => {
  const placed = placeCalls(
    [
      call({ id: 'one', says: ['u:hi'], answer: 'a:hello', at: '2026-01-01T00:00:01Z' }),
      call({ id: 'two', says: HISTORY, answer: 'a:well', at: '2026-01-01T00:00:02Z' }),
      call({ id: 'three', says: HISTORY, at: '2026-01-01T00:00:03Z' }),
      call({ id: 'four', says: ['u:next'], continues: 'two', at: '2026-01-01T00:00:04Z' }),
    ],
    facts(),
  );
  const session = opened('one').session_id;
  assert.equal(
    placed.map(({ session_id }) => session_id),
    [session, session, opened('three').session_id, session],
  );
  assert.is(placed[2]?.fork?.session_id, session);
});

test('a call that waits in an unnamed session of its own is merged into that of the call that it waits for', () => {
  const [waiting, awaited] = placeCalls(
    [
      call({ id: 'late', says: ['u:more'], awaits: 'resp_1', at: '2026-01-01T00:00:09Z' }),
      call({ id: 'early', session: 's', says: ['u:hi'], response: 'resp_1', at: '2026-01-01T00:00:01Z' }),
    ],
    facts(),
  );
  assert.is(waiting?.session_id, opened('late').session_id);
  assert.equal(awaited?.merges, [opened('late').session_id]);
  assert.ok(awaited?.awaited);
});

test('so is one that waits for an item of it; one in the same session is linked anew', () => {
  const early = {
    id: 'early',
    says: ['u:hi'],
    response: 'resp_1',
    items: ['rs_1', 'msg_1'],
    at: '2026-01-01T00:00:01Z',
  };
  const late = { id: 'late', says: ['u:more'], refers: 'msg_1', at: '2026-01-01T00:00:09Z' };
  const [waiting, awaited] = placeCalls([call(late), call(early)], facts());
  assert.is(waiting?.session_id, awaited?.session_id);
  assert.equal([awaited?.merges, awaited?.awaited], [[], true]);

  const first = { id: 'first', says: ['u:so'], items: ['msg_0'], at: '2026-01-01T00:00:00Z' };
  const placed = placeCalls(
    [call(first), call({ ...late, continues: 'first' }), call({ ...early, continues: 'first' })],
    facts(),
  );
  assert.equal(new Set(placed.map(({ session_id }) => session_id)).size, 1);
  assert.equal(
    placed.map((one) => one.awaited),
    [false, false, true],
  );
});

test.run();
