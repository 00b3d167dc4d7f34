/** What rooms outside of `core/harness/` are given as lists over all harnesses. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  CHANGING_HEADERS,
  harnesses,
  isNoTurnPath,
  isServedBy,
  isShell,
  modelAndSuffix,
  SESSION_HEADERS,
  summaryIn,
  UNWRAPPED_TAG,
  withoutPreamble,
} from '../../../core/harness/harnesses.ts';
import { plainHarness } from '../../../core/harness/plain-harness.ts';

const test = suite('lists of harnesses');

test('headers that name a session, in the order of harnesses, and those that change with each call', () => {
  assert.equal(SESSION_HEADERS, ['x-claude-code-session-id', 'session-id', 'x-session-id']);
  assert.equal(CHANGING_HEADERS, ['x-codex-turn-metadata', 'x-codex-window-id']);
  for (const name of [...SESSION_HEADERS, ...CHANGING_HEADERS]) assert.is(name, name.toLowerCase());
});

test('paths without a turn count with all below them, wherever an upstream puts them', () => {
  for (const path of ['/api/event_logging', '/api/event_logging/batch', '/api/claude_cli/', '/base/api/oauth/profile'])
    assert.ok(isNoTurnPath(path), path);
  for (const path of ['/v1/messages', '/api/chat', '/api/authors', '/api/event_loggings/x', '/'])
    assert.not.ok(isNoTurnPath(path), path);
});

test('a suffix is told from its model, in either case and only at the end', () => {
  assert.equal(modelAndSuffix('claude-opus-5[1m]'), ['claude-opus-5', '[1m]']);
  assert.equal(modelAndSuffix('x[1M]'), ['x', '[1M]']);
  assert.equal(modelAndSuffix('[1m]x'), ['[1m]x', '']);
  assert.equal(modelAndSuffix(''), ['', '']);
});

test('shells, and the tools that calls beside the conversation serve', () => {
  for (const name of ['Bash', 'exec_command', 'local_shell']) assert.ok(isShell(name), name);
  for (const name of ['bash', 'Read', '']) assert.not.ok(isShell(name), name);
  assert.ok(isServedBy('offshoot:plan-name-gen', 'ExitPlanMode'));
  assert.ok(isServedBy('offshoot:web-summary', 'WebFetch') && isServedBy('offshoot:web-summary', 'web_search'));
  assert.not.ok(isServedBy('main', 'WebFetch') || isServedBy('offshoot:plan-name-gen', 'WebFetch'));
});

test('tags and links around a person’s words', () => {
  assert.is('<session>a</session><command-args>b'.replace(UNWRAPPED_TAG, ''), 'ab');
  assert.is(withoutPreamble('[@docs](plugin://docs) Write'), ' Write');
  assert.is(withoutPreamble('Write [@docs](plugin://docs)'), 'Write [@docs](plugin://docs)');
});

test('a summary is what is marked as one, else the whole answer', () => {
  assert.is(summaryIn('<analysis>x</analysis><summary>All went well.</summary> Bye'), 'All went well.');
  assert.is(summaryIn('<summary>cut off'), 'cut off');
  assert.is(summaryIn('no beginning</summary>…'), 'no beginning');
  assert.is(summaryIn('All went well.'), 'All went well.');
});

test('a harness without habits recognises nothing', () => {
  const content = { type: 'text', text: 'You are Claude Code' };
  assert.is(plainHarness.signs([['user-agent', 'claude-cli/1.0']], null), null);
  assert.is(plainHarness.speaks('Caveat: The messages below'), false);
  assert.is(plainHarness.titleIn([content]), '');
  assert.is(plainHarness.spawn({ tool_name: 'Agent', tool_input: { prompt: 'Look' } }), null);
  assert.equal(new Set(harnesses.map(({ id }) => id)).size, harnesses.length);
});

test.run();
