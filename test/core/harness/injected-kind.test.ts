import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { injectedKind } from '../../../core/harness/harnesses.ts';
import type { MessageRole } from '../../../core/model/bucket.ts';

const test = suite('injectedKind');

const kindOf = (role: MessageRole, ...texts: string[]) =>
  injectedKind({ role, content: texts.map((text) => ({ type: 'text', text })) });

test('each opening has its kind', () => {
  const kinds: [opening: string, kind: string][] = [
    ['# MCP Server Instructions\n\nthe following', 'mcp-instructions'],
    ['The following skills are available for use', 'skills-list'],
    ['Available agent types for the Agent tool:\n- Explore', 'agents-list'],
    ['Plan mode is active. You', 'mode-banner'],
    ['Exited Plan Mode', 'mode-banner'],
    ['## Exited Plan Mode', 'mode-banner'],
    ['## Exit Plan Mode', 'mode-banner'],
    ['## Plan Mode', 'mode-banner'],
    ['[SYSTEM NOTIFICATION] x', 'mode-banner'],
    ['<user_claude_md>be kind</user_claude_md>', 'claude-md'],
  ];
  for (const [text, kind] of kinds) {
    assert.is(kindOf('user', text), kind);
    assert.is(kindOf('system', `\n \t${text}`), kind);
  }
});

test('conversation is not injected, though it speaks of it', () => {
  assert.is(kindOf('user', 'What is meant by: The following skills are available?'), '');
  assert.is(kindOf('assistant', 'Plan mode is active'), '');
  assert.is(kindOf('tool', 'Plan mode is active'), '');
  assert.is(kindOf('user'), '');
  assert.is(kindOf('user', 'plan mode is active'), '');
});

test('only whole text messages count', () => {
  const text = { type: 'text', text: 'Plan mode is active' };
  assert.is(injectedKind({ role: 'user', content: [text, { type: 'tool_result', tool_result_id: 't' }] }), '');
  assert.is(injectedKind({ role: 'user', content: [{ type: 'image', image_url: 'x' }, text] }), '');
  assert.is(kindOf('user', '', ' Plan mode', ' is active'), 'mode-banner');
});

test.run();
