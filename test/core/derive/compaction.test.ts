/** Where a conversation goes on: after its history was rewritten, on another branch, and with words of a file. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answer,
  assistant,
  type Call,
  injected,
  system,
  text,
  toolResult,
  toolUse,
  user,
} from '../../support/call-turn.ts';
import { linksOf, parentOf, projected, spanAt, spansOf } from '../../support/projected.ts';

const test = suite('seams and branches');

const talk: Call = { at: 0, says: [user('Build the adder')], answers: answer('Built') };
const history = [user('Build the adder'), assistant('Built')];
const compacts: Call = {
  at: 10,
  kind: 'offshoot:compaction',
  says: [...history, user('Summarise the conversation so far')],
  answers: answer('<analysis>Hm</analysis><summary>\n1. Primary Request and Intent: an adder\n</summary>'),
};
const summary = user('The work so far:\n1. Primary Request and Intent: an adder');
const goesOn: Call = { at: 12, says: [summary], answers: answer('I go on') };

test('after a compaction the conversation goes on in a trace of its own, linked to the compaction', () => {
  const rows = projected([talk, compacts, goesOn]);
  assert.equal(
    rows.traces.map(({ synthetic, user_prompt, span_count }) => [synthetic, user_prompt, span_count]),
    [
      ['', 'Build the adder', 3],
      ['post-compaction', '', 2],
    ],
  );
  const [, compaction, first] = spansOf(rows, 'llm');
  assert.equal([compaction?.call_kind, parentOf(rows, compaction)?.name], ['offshoot:compaction', 'main']);
  assert.equal(
    linksOf(rows, 'compaction-seam').map(({ from_span_id, from_io, to_span_id, to_io }) => [
      from_span_id,
      from_io,
      to_span_id,
      to_io,
    ]),
    [[compaction?.span_id, 'output', first?.span_id, 'input']],
  );
  assert.is(rows.rollup.preview, 'Build the adder');
  assert.equal(rows.rollup.kind_counts, { main: 2, 'offshoot:compaction': 1 });
});

test('what a person says besides the summary is the prompt of that trace', () => {
  const [, trace] = projected([talk, compacts, { ...goesOn, says: [summary, user('Now a multiplier')] }]).traces;
  assert.equal([trace?.synthetic, trace?.user_prompt], ['post-compaction', 'Now a multiplier']);
});

test('the next prompt after it opens a trace of its own, without a seam', () => {
  const rows = projected([
    talk,
    compacts,
    goesOn,
    { at: 20, says: [summary, assistant('I go on'), user('Good')], answers: answer('Ok') },
  ]);
  assert.equal(
    rows.traces.map(({ synthetic }) => synthetic),
    ['', 'post-compaction', ''],
  );
  assert.is(linksOf(rows, 'compaction-seam').length, 1);
});

test('a compaction that failed, or from whose history the conversation goes on all the same, makes no seam', () => {
  const prompt: Call = { at: 20, says: [...history, user('And now?')], answers: answer('Now this') };
  const apart = { ...compacts, says: [system('Summarise conversations'), ...(compacts.says ?? [])] };
  for (const call of [{ ...compacts, answers: null, status: 529 }, compacts, apart]) {
    const rows = projected([talk, call, prompt]);
    assert.equal(
      [rows.traces.map(({ synthetic }) => synthetic), linksOf(rows, 'compaction-seam').length],
      [['', ''], 0],
    );
  }
  const later = projected([talk, compacts, prompt, { at: 30, says: [user('Something new')], answers: answer('Ok') }]);
  assert.ok(
    later.traces.every(({ synthetic }) => synthetic === ''),
    'and it is forgotten',
  );
});

test('a result that the compaction brings is the result', () => {
  const asks: Call = { at: 0, says: [user('Go')], answers: answer(toolUse('t')) };
  const rows = projected([
    asks,
    { ...compacts, says: [user('Go'), assistant(toolUse('t')), user(toolResult('t')), user('Summarise')] },
  ]);
  assert.equal(spansOf(rows, 'tool')[0]?.output, [toolResult('t')]);
});

test('a compaction with a thread is a main call of that thread', () => {
  const rows = projected([
    talk,
    { ...compacts, thread_id: 'w' },
    { at: 20, says: [...history, user('More')], answers: answer('Ok') },
  ]);
  assert.equal(rows.rollup.kind_counts, { main: 3 });
  assert.equal([rows.traces.length, linksOf(rows, 'compaction-seam').length], [2, 0]);
  assert.is(parentOf(rows, spansOf(rows, 'llm')[1])?.kind, 'agent');
});

test('a capture that consists only of compactions forms a seam into the transcript that goes on', () => {
  const rows = projected([compacts, { ...goesOn, source: 'transcript' }]);
  assert.equal(
    rows.traces.map(({ synthetic, source }) => [synthetic, source]),
    [
      ['shadow-opener', 'wire'],
      ['post-compaction', 'transcript'],
    ],
  );
  assert.is(linksOf(rows, 'compaction-seam').length, 1);
});

test('a trace is a transcript’s if any of its main calls is', () => {
  const title: Call = {
    at: 0,
    kind: 'offshoot:title-gen',
    says: [user('Title')],
    answers: answer('{"title":"Adder"}'),
  };
  assert.is(projected([title, { ...talk, at: 1, source: 'transcript' }]).traces[0]?.source, 'transcript');
  assert.is(
    projected([
      { ...talk, source: 'transcript' },
      { ...title, at: 1 },
    ]).traces[0]?.source,
    'transcript',
  );
  assert.is(projected([talk, { ...title, at: 1 }]).traces[0]?.source, 'wire');
});

const followUp: Call = { at: 1, says: [...history, user('Test it')], answers: answer('Tested') };

test('who goes back to a message from which a branch goes on already makes another branch', () => {
  const rewound: Call = { at: 2, says: [...history, user('Rather document it')], answers: answer('Documented') };
  const rows = projected([talk, followUp, rewound]);
  const [first, , third] = spansOf(rows, 'llm');
  assert.equal(
    linksOf(rows, 'fork-of').map(({ from_span_id, from_io, to_span_id, to_trace_id }) => [
      from_span_id,
      from_io,
      spanAt(rows, to_trace_id, to_span_id),
    ]),
    [[third?.span_id, '', first]],
  );
});

test('who asks the same again makes another branch, unless the answer had failed: that is a retry', () => {
  const again = projected([talk, { ...talk, at: 2 }]);
  assert.equal([linksOf(again, 'fork-of').length, linksOf(again, 'retry-of').length], [1, 0]);
  const retried = projected([
    { ...talk, answers: null, status: 529 },
    { ...talk, at: 2 },
  ]);
  assert.equal([linksOf(retried, 'fork-of').length, linksOf(retried, 'retry-of').length], [0, 1]);
});

test('no branch: going on, history told anew, an answer in the client’s own words, a failed attempt, context put in', () => {
  const forks = (...calls: Call[]) => linksOf(projected(calls), 'fork-of').length;
  assert.is(forks(talk, followUp, { at: 2, says: [...(followUp.says ?? []), assistant('Tested'), user('Good')] }), 0);
  assert.is(
    forks(talk, followUp, { at: 2, says: [...history, user('Test (shortened)'), assistant('Tested'), user('Good')] }),
    0,
  );
  assert.is(forks(talk, { at: 2, says: [user('Build the adder'), assistant('BUILT'), user('Good')] }), 0);
  assert.is(
    forks(talk, { ...followUp, answers: null, status: 400 }, { at: 2, says: [...history, user('Test it well')] }),
    0,
  );
  assert.is(
    forks(talk, { at: 2, says: [...history, injected('mode-banner', 'Plan mode is active'), user('More')] }),
    0,
  );
  assert.is(
    forks(talk, followUp, { at: 2, thread_id: 'w', says: [...history, user('Sub')], answers: answer(text('x')) }),
    0,
  );
});

test.run();
