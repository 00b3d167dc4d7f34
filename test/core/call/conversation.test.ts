/** Conversations that nobody names: told apart and put together by their chains alone. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChainMessage, type KnownNode, placeConversation } from '../../../core/call/conversation.ts';

/** Messages written 'u:words' or 'a:words'; the hash of each is all that leads to it. */
const chainOf = (...messages: string[]): ChainMessage[] =>
  messages.map((message, i) => ({
    node_hash: messages.slice(0, i + 1).join('|'),
    role: message.startsWith('a') ? 'assistant' : 'user',
  }));

/** The client's sessions, as rows of nodes. */
function world() {
  const sessions = new Map<string, { started_at: string; chains: Map<string, ChainMessage> }>();
  const known = (): KnownNode[] =>
    [...sessions].flatMap(([session_id, { started_at, chains }]) =>
      [...chains.values()].map(({ node_hash, role }) => ({
        session_id,
        node_hash,
        role,
        started_at,
        is_head: ![...chains.keys()].some(
          (other) => other.startsWith(`${node_hash}|`) && other.lastIndexOf('|') === node_hash.length,
        ),
      })),
    );
  /** Takes a call in, answered unless `answer` is null, and tells its session. */
  const call = (request: string[], answer: string | null, retry = false): string => {
    const chain = chainOf(...request);
    const place = placeConversation(chain, known(), retry);
    const id = place.kind === 'continue' ? place.session_id : `session ${String(sessions.size).padStart(3, '0')}`;
    const session = sessions.get(id) ?? {
      started_at: String(sessions.size).padStart(3, '0'),
      chains: new Map<string, ChainMessage>(),
    };
    for (const link of answer === null ? chain : chainOf(...request, answer)) session.chains.set(link.node_hash, link);
    sessions.set(id, session);
    return id;
  };
  return { call, sessions, known };
}

const test = suite('conversation');

test('an opening is new, however often its words were said', () => {
  const { call, sessions } = world();
  assert.is.not(call(['u:hi'], 'a:hello'), call(['u:hi'], 'a:hello'));
  assert.is(sessions.size, 2);
});

test('a call that holds the head goes on with its session', () => {
  const { call } = world();
  const first = call(['u:hi'], 'a:hello');
  const other = call(['u:hi'], 'a:goodbye');
  assert.is(call(['u:hi', 'a:hello', 'u:more'], 'a:well'), first);
  assert.is(call(['u:hi', 'a:goodbye', 'u:more'], 'a:well'), other);
});

test('a call without an answer is gone on with, once an answer stands before it', () => {
  const { call } = world();
  const first = call(['u:hi'], 'a:hello');
  call(['u:hi', 'a:hello', 'u:more'], null);
  assert.is(call(['u:hi', 'a:hello', 'u:more'], 'a:well'), first);
});

test('an unanswered opening is gone on with by its retry alone, of the newest', () => {
  const { call } = world();
  const old = call(['u:hi'], null);
  const first = call(['u:hi'], null);
  assert.is.not(call(['u:oh'], null, true), first);
  const retried = call(['u:hi'], 'a:hello', true);
  assert.is(retried, first);
  assert.is.not(retried, old);
});

test('a retry of an answered opening is new: that answer was somebody’s', () => {
  const { call } = world();
  const first = call(['u:hi'], 'a:hello');
  assert.is.not(call(['u:hi'], 'a:hello', true), first);
});

test('going on from an inner answer is a fork', () => {
  const { call, known } = world();
  const first = call(['u:hi'], 'a:hello');
  call(['u:hi', 'a:hello', 'u:more'], 'a:well');
  const chain = chainOf('u:hi', 'a:hello', 'u:other');
  assert.equal(placeConversation(chain, known()), { kind: 'fork', session_id: first, node_hash: 'u:hi|a:hello' });
});

test('another answer to the same opening is no fork, since only words are shared', () => {
  const { call, known } = world();
  call(['u:hi'], 'a:hello');
  assert.equal(placeConversation(chainOf('u:hi', 'a:else', 'u:more'), known()), { kind: 'new' });
});

test('the order of rows decides nothing', () => {
  const { call, known } = world();
  for (let i = 0; i < 3; i++) call(['u:hi'], 'a:hello');
  const chain = chainOf('u:hi', 'a:hello', 'u:more');
  fc.assert(
    fc.property(fc.shuffledSubarray(known(), { minLength: known().length }), (rows) => {
      assert.equal(placeConversation(chain, rows), placeConversation(chain, known()));
    }),
  );
});

test('twenty conversations with the same words and answers stay twenty, however they interleave', () => {
  const turns = 5;
  fc.assert(
    fc.property(
      fc.shuffledSubarray(
        Array.from({ length: 20 * turns }, (_, i) => i % 20),
        { minLength: 20 * turns },
      ),
      (order) => {
        const { call, sessions } = world();
        const histories = Array.from({ length: 20 }, (): string[] => []);
        for (const who of order) {
          const history = histories[who];
          assert.ok(history);
          const round = history.length / 2;
          call([...history, `u:${round}`], `a:${round}`);
          history.push(`u:${round}`, `a:${round}`);
        }
        assert.is(sessions.size, 20);
        for (const { chains } of sessions.values()) assert.is(chains.size, turns * 2);
      },
    ),
    { numRuns: 10 },
  );
});

test.run();
