/** Which calls do transcripts tell of, and are they what the wire would have told? */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { providerKey } from '../../../../core/call/call-key.ts';
import type { CountedTranscript } from '../../../../core/derive/transcript/linked-calls.ts';
import {
  knownTurns,
  type TranscriptTurn,
  transcriptTurns,
  turnDigest,
} from '../../../../core/derive/transcript/turns.ts';
import { readClaudeTranscript } from '../../../../core/harness/claude-transcript.ts';
import { readOpencodeTranscript } from '../../../../core/harness/opencode-transcript.ts';
import { readPiTranscript } from '../../../../core/harness/pi-transcript.ts';
import type { Identity } from '../../../../core/model/identity.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { opencodeChat, piChat } from '../../../support/other-transcripts.ts';
import {
  answeredBy,
  claudeChat,
  resulted,
  SESSION_ID,
  textBlock,
  transcriptFile,
  userRecord,
  uses,
} from '../../../support/transcript-records.ts';

const test = suite('transcript turns');

const identity: Identity = {
  ...{ harness_id: 'claude', harness_session_id: SESSION_ID, thread_id: '', parent_harness_session_id: null },
  ...{ parent_thread_id: '', harness_version: '', cwd: '', session_name: '', harness_metadata: null },
  ...{ agent_name: 'claude', project: '', auth_subject: '' },
};
const SESSION = '5e551011-0000-4000-8000-000000000000';
const source = (records: unknown[], thread_id = '', rest: Partial<CountedTranscript> = {}): CountedTranscript => ({
  reading: readClaudeTranscript(transcriptFile(records, { main: thread_id === '', agent_id: thread_id })),
  thread_id,
  raw_turn_id: 1,
  identity: { ...identity, thread_id },
  ...rest,
});
const turns = (...sources: CountedTranscript[]) => transcriptTurns(SESSION, sources, priceOf);
const rowsOf = (calls: readonly TranscriptTurn[]) =>
  calls.map(({ turn, nodes, claim }) => ({ turn, nodes: nodes(), claim }));

test('each call hangs on the one before; its messages, its answer and what was used stand in nodes, once', () => {
  const calls = turns(source(claudeChat(2)));
  const [one, two] = calls.map(({ turn }) => turn);
  assert.equal(
    two?.fresh.map(({ parent_hash }) => parent_hash),
    [one?.leaf_hash],
  );
  assert.is(two?.tip_hash, two?.fresh[0]?.node_hash);
  const nodes = calls.flatMap((call) => call.nodes());
  assert.equal(
    nodes.map(({ depth, role, input_tokens }) => [depth, role, input_tokens]),
    [
      [0, 'user', 0],
      [1, 'assistant', 10],
      [2, 'user', 0],
      [3, 'assistant', 10],
    ],
  );
  assert.ok(
    nodes.every(({ cost_usd }, i) => (i % 2 === 1) === (cost_usd !== null)),
    'answers have a price',
  );
  assert.equal([one?.source, one?.kind, one?.provider, one?.outcome], ['transcript', 'main', 'anthropic', 'captured']);
});

test('ids are told by session, thread and answer, and not by where the file lies', () => {
  const ids = (one: CountedTranscript) => turns(one).map(({ turn }) => turn.call_id);
  const records = claudeChat(2);
  assert.match(ids(source(records))[0] ?? '', /^tx:[0-9a-f]{32}$/);
  assert.equal(ids(source(records, '', { raw_turn_id: 9 })), ids(source(records)));
  const others = [source(records), source(records, 'main'), source(records, 'a1')].map((one) => ids(one).join());
  assert.is(new Set(others).size, 3, 'an agent called main is not the main thread');
  const elsewhere = source(records, '', {
    identity: { ...identity, harness_session_id: 'other' },
  });
  assert.not.equal(ids(elsewhere), ids(source(records)));
});

test('what two threads both say is fresh in the earlier call alone', () => {
  const [first, second] = turns(source(claudeChat(1), 'b'), source(claudeChat(1), 'a')).map(({ turn, nodes }) => [
    turn.fresh.length,
    nodes().length,
  ]);
  assert.equal(
    [first, second],
    [
      [1, 2],
      [0, 0],
    ],
  );
});

test('a call that grows has another digest; one that stays, and its file alone moves, has not', () => {
  const digests = (records: unknown[], raw_turn_id = 1) =>
    turns(source(records, '', { raw_turn_id })).map(({ turn }) => turnDigest(turn));
  assert.equal(digests(claudeChat(3), 7), digests(claudeChat(3)));
  const grown = [...claudeChat(3), answeredBy(['a3', 'p3'], 30, 'msg_3', [textBlock('more')])];
  assert.equal(digests(grown).slice(0, 2), digests(claudeChat(3)).slice(0, 2));
  assert.not.equal(digests(grown)[2], digests(claudeChat(3))[2]);
});

test('whatever was read before, a file that has grown or changed gives the calls that it gives by itself', () => {
  type Step = { kind: number; back: number; words: string };
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.nat(9),
    back: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(5)),
    words: fc.constantFrom('Go on', 'ls', '<system-reminder>mind</system-reminder>', 'Done'),
  });
  const recordOf = ({ kind, back, words }: Step, n: number) => {
    const edge: [string, string] = [n - 1 - back >= 0 ? `r${n - 1 - back}` : '', `r${n}`];
    if (kind < 4)
      return userRecord(edge, n, kind === 0 ? [resulted('t1', words)] : words, kind === 1 ? { cwd: '/elsewhere' } : {});
    if (kind < 8) return answeredBy(edge, n, kind === 4 ? 'again' : `m${n}`, [textBlock(words), uses('t1')]);
    return kind === 8
      ? { ...userRecord(edge, n, ''), type: 'system', subtype: 'compact_boundary', content: '' }
      : { type: 'x' };
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.array(fc.nat(30), { maxLength: 6 }), (steps, sizes) => {
      const records = steps.map(recordOf);
      let known = knownTurns([]);
      for (const size of sizes) {
        const files = [source(records.slice(0, size)), source(records.slice(size), 'a1')];
        const calls = transcriptTurns(SESSION, files, priceOf, known);
        const alone = turns(...files);
        assert.equal(rowsOf(calls), rowsOf(alone));
        assert.equal(
          calls.map(({ turn }) => turnDigest(turn)),
          alone.map(({ turn }) => turnDigest({ ...turn })),
        );
        known = knownTurns(calls);
      }
    }),
    { numRuns: 300 },
  );
});

test('the turn of a call that has not changed is the one that was read before', () => {
  const before = turns(source(claudeChat(9)));
  const after = transcriptTurns(SESSION, [source(claudeChat(10))], priceOf, knownTurns(before));
  for (const [n, { turn }] of before.entries()) assert.ok(after[n]?.turn === turn);
});

test('calls come in the order of the fold, however the files are given', () => {
  const late = [userRecord(['', 'x'], 11, 'Aside'), answeredBy(['x', 'y'], 12, 'msg_x', [textBlock('Done')])];
  const files = [source(claudeChat(3)), source(late, 'a1'), source(late, 'a2')];
  fc.assert(
    fc.property(fc.shuffledSubarray(files, { minLength: 3 }), (given) => {
      assert.equal(rowsOf(turns(...given)), rowsOf(turns(...files)));
    }),
  );
});
for (const [name, read, records] of [
  ['opencode', readOpencodeTranscript, opencodeChat],
  ['pi', readPiTranscript, piChat],
] as const)
  test(`${name}: a conversation that goes on at another provider is billed by each call's own`, () => {
    const text = JSON.stringify(records);
    const at = text.lastIndexOf('"role":"assistant"');
    const first = text.slice(0, at).replaceAll('gpt-4.1', 'claude-sonnet-4-5').replaceAll('"openai', '"anthropic');
    const later = text.slice(at).replace('-completions', '-responses');
    const file = transcriptFile(JSON.parse(`${first}"responseId":"resp_1",${later}`)) as never;
    const calls = turns(source([], '', { reading: read(file) }));
    assert.equal(
      calls.map(({ turn }) => [turn.model, turn.provider, turn.format]),
      [
        ['claude-sonnet-4-5', 'anthropic', 'anthropic.messages'],
        ['gpt-4.1', 'openai', name === 'pi' ? 'openai.responses' : 'openai.chat'],
      ],
    );
    const prices = calls.flatMap((call) => call.nodes()).flatMap(({ cost_usd }) => cost_usd ?? []);
    assert.equal([prices.length, prices.every((usd) => Number(usd) > 0)], [2, true]);
    const byId = providerKey('openai.responses', { response_id: 'resp_1', request_id: '' });
    if (name === 'pi') assert.is(calls[1]?.claim.call_key, byId);
  });

test.run();
