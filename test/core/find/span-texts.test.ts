/** Which texts of a span can be found, and where do they stand? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { spanTexts } from '../../../core/find/span-texts.ts';

const test = suite('spanTexts');

test('a call: its prompt, its answer and thinking, and what the provider says; its tools have spans of their own', () => {
  const texts = spanTexts({
    kind: 'llm',
    input: [{ type: 'text', text: 'why' }],
    output: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: '' },
      { type: 'text', text: 'so' },
      { type: 'tool_use', tool_name: 'Bash', tool_input: { command: 'ls' } },
      { type: 'mcp_tool_use', content: { id: 'm', name: 'roll', server_name: 'dice', input: { of: 'six' } } },
    ],
    error_message: 'Overloaded',
  });
  assert.equal(
    texts.map(({ place, side, block, text }) => [place, side, block, text]),
    [
      ['conversation', 'input', 0, 'why'],
      ['thinking', 'output', 0, 'hm'],
      ['conversation', 'output', 2, 'so'],
      ['conversation', 'error', 0, 'Overloaded'],
    ],
  );
});

test('a tool: all texts of its input in their order, and its result; no bytes of an image', () => {
  const texts = spanTexts({
    kind: 'tool',
    input: [{ type: 'tool_use', tool_input: { command: 'ls -l', more: [1, { a: 'x', b: 'yz' }], last: 'end' } }],
    output: [
      { type: 'tool_result', tool_output: 'listed' },
      {
        type: 'tool_result',
        content: [
          { type: 'text', text: 'two' },
          { type: 'image', source: { data: 'A'.repeat(2_000) } },
        ],
      },
    ],
    error_message: '',
  });
  assert.equal(
    texts.map(({ place, side, block, offset, text }) => [place, side, block, offset, text]),
    [
      ['tools', 'input', 0, 0, 'ls -l'],
      ['tools', 'input', 0, 6, 'x'],
      ['tools', 'input', 0, 8, 'yz'],
      ['tools', 'input', 0, 11, 'end'],
      ['tools', 'output', 0, 0, 'listed'],
      ['tools', 'output', 1, 0, 'two'],
    ],
  );
});

test.run();
