/** Whatever is edited in a raw turn, or taken out before it, its hash no longer fits. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { headersDigest, type TurnFacts, turnHash } from '../../../core/merkle/turn-chain.ts';

const facts: TurnFacts = {
  session_id: '11111111-1111-5111-8111-111111111111',
  session_seq: 1,
  source: 'wire',
  svc_proxy_request_id: '0198c0de-0000-7000-8000-000000000001',
  request_id: null,
  outcome: 'captured',
  ending: 'complete',
  provider: 'anthropic',
  format: 'anthropic.messages',
  method: 'POST',
  url: '/v1/messages?beta=true',
  status: 200,
  harness_id: 'claude',
  harness_session_id: 's',
  thread_id: '',
  parent_harness_session_id: null,
  identity: {
    harness_id: 'claude',
    harness_session_id: 's',
    thread_id: '',
    parent_harness_session_id: null,
    parent_thread_id: '',
    harness_version: '2',
    cwd: '/',
    session_name: '',
    harness_metadata: { kind: 'interactive' },
    agent_name: 'claude',
    project: '',
    auth_subject: '',
  },
  requested_at: '2026-11-21T09:30:00.123456Z',
  first_byte_at: null,
  last_byte_at: null,
  request_headers_digest: 'a',
  response_headers_digest: null,
  request_bytes: 10,
  request_digest: 'b',
  response_bytes: 0,
  response_digest: null,
  meta: {},
};

const test = suite('turn chain');

test('a worked vector: the hash is fixed for ever', () => {
  assert.is(turnHash(null, facts), '3b7a95f96c84d5d71a1240133d14ee3157ba4173275f434188d3ee2ae18dbfb4');
});

test('every fact moves the hash, and so does the turn before', () => {
  const hash = turnHash(null, facts);
  assert.is.not(turnHash(hash, facts), hash);
  for (const [name, value] of Object.entries(facts)) {
    const edited = typeof value === 'number' ? value + 1 : typeof value === 'object' ? { edited: true } : `${value}!`;
    assert.is.not(turnHash(null, { ...facts, [name]: edited }), hash, name);
  }
});

test('the order of keys is nothing', () => {
  const turned = Object.fromEntries(Object.entries(facts).reverse()) as TurnFacts;
  assert.is(turnHash(null, turned), turnHash(null, facts));
});

test('headers: order, case and repetition count', () => {
  assert.is.not(headersDigest([['A', '1']]), headersDigest([['a', '1']]));
  assert.is.not(
    headersDigest([
      ['a', '1'],
      ['b', '2'],
    ]),
    headersDigest([
      ['b', '2'],
      ['a', '1'],
    ]),
  );
  assert.is(headersDigest(null), null);
});

test.run();
