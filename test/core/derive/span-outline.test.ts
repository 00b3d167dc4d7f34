/** What is shown of a span before its payload is read: its label, and how much text and how many images it has. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { patchedOutline, spanOutline } from '../../../core/derive/span-outline.ts';
import { mainArgument } from '../../../core/harness/tool-argument.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import { text, toolResult, toolUse } from '../../support/call-turn.ts';
import { growthProblem } from '../../support/growth.ts';

const test = suite('the outline of a span');

type Outlined = Parameters<typeof spanOutline>[0];
const outline = (kind: Outlined['kind'], rest: Partial<Outlined> = {}) =>
  spanOutline({ kind, input: [], output: [], description: '', error_message: '', ...rest });
const label = (kind: Outlined['kind'], rest: Partial<Outlined>) => outline(kind, rest).label;

test('the argument that matters of a tool, by the names that harnesses give it', () => {
  const telling: [input: unknown, argument: string][] = [
    [{ description: 'Lists', command: ' ls -l ' }, 'ls -l'],
    [{ cmd: ['bash', '-lc', 'ls'] }, 'bash -lc ls'],
    [{ old_string: 'a', file_path: '/src/a.ts' }, '/src/a.ts'],
    [{ filePath: '/src/b.ts' }, '/src/b.ts'],
    [{ path: 'src', pattern: 'TODO' }, 'TODO'],
    [{ prompt: 'What is it?', url: 'https://example.com/' }, 'https://example.com/'],
    [{ query: 'carry adder' }, 'carry adder'],
    [{ subagent_type: 'reviewer', prompt: 'Look at it' }, 'Look at it'],
    [{ command: '', file_path: 7, todos: [{ content: 'First' }] }, 'First'],
    ['*** Begin Patch', '*** Begin Patch'],
    [{ count: 7 }, ''],
    [null, ''],
    [undefined, ''],
    [JSON.parse('{"__proto__": {"command": "rm"}, "constructor": "x"}'), 'rm'],
  ];
  for (const [input, argument] of telling) assert.is(mainArgument(input), argument, JSON.stringify(input));
  let deep: unknown = 'found';
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  assert.is(mainArgument(deep), '');
  assert.is(outline('tool', { input: [toolUse('t', 'x', deep)] }).input_characters, 5);
});

test('a label is what matters on one line, cut after 120 whole characters', () => {
  assert.is(label('tool', { input: [toolUse('t', 'Bash', { command: 'ls\n  -l' })] }), 'ls -l');
  assert.is(label('llm', { output: [text(' \nIt is\nbroken '), toolUse('t')] }), 'It is broken');
  assert.is(label('llm', { error_message: 'Overloaded' }), 'Overloaded');
  assert.is(label('llm', { output: [{ type: 'thinking', thinking: 'Let me see' }] }), 'Let me see');
  assert.is(label('agent', { description: 'Review it' }), 'Review it');
  assert.is(label('event', { input: [text('Plan mode is active')] }), 'Plan mode is active');
  assert.is(label('llm', {}), '');
  assert.is(label('llm', { output: [text('😀'.repeat(500))] }), '😀'.repeat(120));
  assert.is(label('llm', { output: [text('x'.repeat(121))] }), 'x'.repeat(120));
});

test('lines, characters and images of what is shown as text', () => {
  const picture: ContentBlock = { type: 'image', image_base64: 'iVBO', media_type: 'image/png' };
  assert.equal(
    outline('llm', { input: [text('a\nb\n'), picture], output: [text('c'), { type: 'thinking', thinking: 'd' }] }),
    { label: 'c', input_lines: 2, input_characters: 4, output_lines: 1, output_characters: 1, images: 1 },
  );
  const shown = [
    { type: 'text', text: 'a screen' },
    { type: 'image', source: {} },
  ];
  const tool = outline('tool', {
    input: [toolUse('t', 'Edit', { file_path: '/a', old_string: 'x\ny', edits: [{ new_string: 'z' }] })],
    output: [{ type: 'tool_result', tool_result_id: 't', content: shown }],
  });
  assert.equal(tool, {
    label: '/a',
    input_lines: 4,
    input_characters: 6,
    output_lines: 1,
    output_characters: 8,
    images: 1,
  });
});

test('a patch changes what it brings, as if the span had been made with it', () => {
  const input = [toolUse('t', 'Bash', { command: 'ls' })];
  const ids = { trace_id: '', span_id: '' };
  const output = [toolResult('t', 'a\nb')];
  assert.equal(
    { ...outline('tool', { input }), ...patchedOutline({ ...ids, output }) },
    outline('tool', { input, output }),
  );
  assert.equal(patchedOutline({ ...ids, description: 'Review it' }), { label: 'Review it' });
  assert.equal(patchedOutline({ ...ids, status: 'error' }), {});
  assert.equal(patchedOutline({ ...ids, output: [] }), { output_lines: 0, output_characters: 0, images: 0 });
});

test('work grows no faster than the text', () => {
  for (const piece of [' ', '\n', 'a\n', '\ud83d'])
    assert.is(
      growthProblem((output) => outline('llm', { output: [text(output)] }), '', piece),
      null,
      JSON.stringify(piece),
    );
});

test.run();
