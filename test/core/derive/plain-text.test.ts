import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LONGEST_PLAIN_TEXT, plainText } from '../../../core/derive/plain-text.ts';
import { WRAPPERS } from '../../../core/harness/harnesses.ts';

const test = suite('plainText');

const blocks = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }));
const call = {
  call_kind: 'main',
  inherited_from: null,
  input: blocks(),
  said_blocks: [0],
  output: blocks(),
  error_message: '',
};
const ofTexts = (input: string, output: string, error_message = '') =>
  plainText({ ...call, input: blocks(input), output: blocks(output), error_message }) ?? 'null';

test('what was asked comes before what was answered, and empty parts leave no line', () => {
  assert.is(ofTexts('why?', 'because'), 'why?\nbecause');
  assert.is(ofTexts('', 'because'), 'because');
  assert.is(ofTexts(' \n ', ''), '');
});

test('only the blocks that a person wrote count, and of the answer only text', () => {
  const input = [...blocks('You are a helper.', 'why?', 'and how?'), { type: 'image', text: 'never' }];
  const output = [
    { type: 'thinking', thinking: 'never' },
    ...blocks('because', 'so'),
    { type: 'tool_use', text: 'never' },
  ];
  assert.is(plainText({ ...call, input, said_blocks: [1, 2, 3], output }), 'why?\nand how?\nbecause\nso');
});

test('what a harness wrapped in its own tags is left out, of the answer nothing is', () => {
  const input = 'before <system-reminder>\nnever\n</system-reminder> after<command-name>/x</command-name>';
  assert.is(
    ofTexts(input, '<system-reminder>kept</system-reminder>'),
    'before   after\n<system-reminder>kept</system-reminder>',
  );
});

test('every wrapper of a harness goes with what it holds, and what a person wrote between tags stays', () => {
  for (const tag of WRAPPERS) assert.is(ofTexts(`before <${tag}>never</${tag}> after`, ''), 'before   after', tag);
  for (const tag of WRAPPERS) assert.is(ofTexts(`a <${tag} kind="x">never</${tag.toUpperCase()}>`, ''), 'a', tag);
  assert.is(ofTexts('<command-args>the carry</command-args>', ''), 'the carry');
});

test('a tag that is never closed is text', () => {
  assert.is(ofTexts('why does <system-reminder> show?', ''), 'why does <system-reminder> show?');
});

test('a provider’s message of a failure is found like an answer', () => {
  assert.is(ofTexts('why?', '', 'prompt is too long'), 'why?\nprompt is too long');
});

test('calls beside the conversation, and calls that count in another session, have none', () => {
  const exchange = { ...call, input: blocks('why?'), output: blocks('because') };
  assert.is(plainText({ ...exchange, call_kind: 'offshoot:title-gen' }), null);
  assert.is(plainText({ ...exchange, call_kind: '' }), null, 'a tool');
  assert.is(plainText({ ...exchange, inherited_from: '0b5e3d1c-9a57-4c0e-8f42-3f1d2e4a5b6c' }), null);
});

test('a text is cut only where the whole is too long, and both parts keep a half', () => {
  const half = LONGEST_PLAIN_TEXT / 2;
  const shared = (input: number, output: number) => {
    const text = ofTexts('a'.repeat(input), 'b'.repeat(output));
    return [text.indexOf('\n'), text.length - text.indexOf('\n') - 1];
  };
  assert.equal(shared(half, half - 1), [half, half - 1], 'it just fits');
  assert.equal(shared(2 * half, 10), [2 * half - 11, 10]);
  assert.equal(shared(10, 2 * half), [10, 2 * half - 11]);
  assert.equal(shared(2 * half, 2 * half), [half, half - 1]);
  const astral = ofTexts('😀'.repeat(half), '😀'.repeat(half));
  assert.ok(astral.length >= LONGEST_PLAIN_TEXT - 3 && astral.length <= LONGEST_PLAIN_TEXT);
  assert.ok(astral.isWellFormed());
});

test.run();
