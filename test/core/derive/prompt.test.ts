import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { genuinePrompts, preview, promptText } from '../../../core/derive/prompt.ts';
import { assistant, type Call, callTurns, injected, text, toolResult, user } from '../../support/call-turn.ts';

const test = suite('prompt');
const prompts = (call: Omit<Call, 'at'>) =>
  callTurns([{ at: 0, ...call }])
    .flatMap(genuinePrompts)
    .map(({ content }) => promptText(content));

test('what a harness wraps around a prompt is stripped', () => {
  assert.is(promptText([text('<system-reminder>\nToday\n</system-reminder>'), text('Run it')]), 'Run it');
  assert.is(promptText([text('a <environment_context cwd="x">y</environment_context> b')]), 'a  b');
  assert.is(promptText([text('Fix it <system-reminder>never closed')]), 'Fix it');
  assert.is(
    promptText([text('<system-reminders>mine</system-reminders>')]),
    '<system-reminders>mine</system-reminders>',
  );
});
test('what it wraps a prompt in is unwrapped', () => {
  assert.is(promptText([text('<session>\nRun it.\n</session>')]), 'Run it.');
  assert.is(promptText([text('<command-name>/do</command-name><command-args>this</command-args>')]), 'this');
  assert.is(promptText([text('[@docs](plugin://docs) Write')]), 'Write');
});
test('only a person speaks: no injected context, no results, no history, nothing but wrappers', () => {
  assert.equal(prompts({ says: [injected('mode-banner', 'Plan mode is active')] }), []);
  assert.equal(prompts({ says: [user(toolResult('t'), 'with words')] }), []);
  assert.equal(prompts({ says: [user('old'), assistant('said')] }), []);
  assert.equal(prompts({ says: [user('<system-reminder>x</system-reminder>')] }), []);
  assert.equal(prompts({ says: [user('old'), assistant('said'), user('new')] }), ['new']);
  assert.equal(prompts({ says: [user({ type: 'image', image_url: 'https://a.example/b.png' })] }), ['']);
});
test('a preview ends at a character, within 280 bytes', async () => {
  assert.is(preview('x'.repeat(281)), 'x'.repeat(280));
  assert.is(preview('é'.repeat(200)), 'é'.repeat(140));
  await fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (words) => {
      const cut = preview(words);
      assert.ok(Buffer.byteLength(cut) <= 280 && words.startsWith(cut));
      assert.ok(cut.isWellFormed());
      assert.ok(cut === words || Buffer.byteLength(cut) > 276);
    }),
  );
});
test('a long text without an end to its tags is read once', () => {
  assert.is(promptText([text('<'.repeat(2_000_000))]).length, 2_000_000);
  assert.is(promptText([text('<session>'.repeat(200_000))]), '');
});
test.run();
