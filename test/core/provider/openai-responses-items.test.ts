import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';
import { isUnreadable, oneShot, readable, response, use } from '../../support/responses.ts';

const test = suite('openaiResponses, items');

const result = (rest: object) => ({ type: 'tool_result', tool_result_id: 'c', ...rest });
const image = 'https://x/y.png';

/** Each kind of item that stays one block, as the types of the `openai` package and Codex know them. */
const kinds: [item: Record<string, unknown>, role: string, block: object | null][] = [
  [
    { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
    'assistant',
    use('c', 'local_shell', { type: 'exec', command: ['ls'] }),
  ],
  [
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    'assistant',
    use('c', 'shell', { commands: ['ls'] }),
  ],
  [
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] }, environment: { type: 'container_reference' } },
    'assistant',
    { ...use('c', 'shell', { commands: ['ls'] }), type: 'server_tool_use' },
  ],
  [
    { type: 'apply_patch_call', call_id: 'c', operation: { type: 'delete_file', path: 'a' } },
    'assistant',
    use('c', 'apply_patch', { type: 'delete_file', path: 'a' }),
  ],
  [
    { type: 'computer_call', call_id: 'c', action: { type: 'wait' }, pending_safety_checks: [] },
    'assistant',
    use('c', 'computer', { type: 'wait' }),
  ],
  [
    { type: 'computer_call', call_id: 'c', actions: [{ type: 'wait' }] },
    'assistant',
    use('c', 'computer', { actions: [{ type: 'wait' }] }),
  ],
  [
    { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'q' } },
    'assistant',
    use('c', 'tool_search', { query: 'q' }),
  ],
  [
    { type: 'tool_search_call', call_id: 'c', execution: 'server', arguments: { query: 'q' } },
    'assistant',
    { ...use('c', 'tool_search', { query: 'q' }), type: 'server_tool_use' },
  ],
  [
    { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'n', arguments: '{"a":1}' },
    'assistant',
    use('mcpr_1', 'mcp_approval_request', { server_label: 's', name: 'n', arguments: { a: 1 } }),
  ],
  [
    { type: 'program', call_id: 'c', code: '1+1', fingerprint: 'f' },
    'assistant',
    { ...use('c', 'program', { code: '1+1' }), type: 'server_tool_use' },
  ],
  [
    { type: 'multi_agent_call', call_id: 'c', action: 'wait_agent', arguments: '{}' },
    'assistant',
    { ...use('c', 'wait_agent', {}), type: 'server_tool_use' },
  ],
  [{ type: 'future_call', call_id: 'c', plan: [1] }, 'assistant', use('c', 'future', { plan: [1] })],
  [{ type: 'function_call_output', call_id: 'c', output: 'done' }, 'tool', result({ tool_output: 'done' })],
  [{ type: 'function_call_output', call_id: 'c', output: '' }, 'tool', result({ tool_output: '' })],
  [
    {
      type: 'function_call_output',
      call_id: 'c',
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: image },
        { type: 'input_text', text: 'b' },
      ],
    },
    'tool',
    result({ tool_output: 'a\nb', content: [{ type: 'image', image_url: image }] }),
  ],
  [{ type: 'custom_tool_call_output', call_id: 'c', output: 'done' }, 'tool', result({ tool_output: 'done' })],
  [
    { type: 'local_shell_call_output', id: 'c', output: '{"stdout":""}' },
    'tool',
    result({ tool_output: '{"stdout":""}' }),
  ],
  [
    {
      type: 'shell_call_output',
      call_id: 'c',
      output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 1 }, created_by: 'x' }],
    },
    'tool',
    result({ tool_output: 'a\nb', content: [{ outcome: { type: 'exit', exit_code: 1 } }] }),
  ],
  [
    { type: 'apply_patch_call_output', call_id: 'c', status: 'failed', output: 'no such file' },
    'tool',
    result({ tool_output: 'no such file', is_error: true }),
  ],
  [{ type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: null }, 'tool', result({})],
  [
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: image } },
    'tool',
    result({ content: [{ type: 'image', image_url: image }] }),
  ],
  [
    { type: 'mcp_approval_response', approval_request_id: 'c', approve: false, reason: 'no' },
    'tool',
    result({ content: { approve: false, reason: 'no' } }),
  ],
  [
    { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: [{ name: 't' }] },
    'tool',
    result({ content: [{ name: 't' }] }),
  ],
  [
    { type: 'tool_search_output', call_id: 'c', execution: 'server', tools: [{ name: 't' }] },
    'assistant',
    { type: 'tool_search_tool_result', tool_result_id: 'c', content: [{ name: 't' }] },
  ],
  [
    { type: 'program_output', call_id: 'c', result: '2' },
    'assistant',
    { type: 'program_tool_result', tool_result_id: 'c', tool_output: '2' },
  ],
  [
    {
      type: 'multi_agent_call_output',
      call_id: 'c',
      action: 'wait_agent',
      output: [{ type: 'output_text', text: 'a' }],
    },
    'assistant',
    { type: 'multi_agent_tool_result', tool_result_id: 'c', tool_output: 'a' },
  ],
  [{ type: 'future_output', call_id: 'c', output: [{ n: 1 }] }, 'tool', result({ content: [{ n: 1 }] })],
  [
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'r' }] },
    'assistant',
    { type: 'thinking', thinking: 'r' },
  ],
  [
    { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
    'assistant',
    { type: 'thinking', thinking: '', thinking_signature: 'gAAA' },
  ],
  [{ type: 'reasoning', summary: [], encrypted_content: null }, 'assistant', null],
  [
    { type: 'compaction', encrypted_content: 'e' },
    'assistant',
    { type: 'compaction', content: { type: 'compaction', encrypted_content: 'e' } },
  ],
  [
    { type: 'compaction_summary', encrypted_content: 'e' },
    'assistant',
    { type: 'compaction', content: { type: 'compaction', encrypted_content: 'e' } },
  ],
  [{ type: 'compaction_trigger' }, 'system', { type: 'compaction_trigger', content: { type: 'compaction_trigger' } }],
  [{ type: 'additional_tools', role: 'developer', tools: [{ name: 't' }] }, 'system', null],
  [
    { type: 'agent_message', author: '/root', recipient: '/root/a', content: [{ type: 'input_text', text: 'x' }] },
    'system',
    {
      type: 'agent_message',
      content: {
        type: 'agent_message',
        author: '/root',
        recipient: '/root/a',
        content: [{ type: 'input_text', text: 'x' }],
      },
    },
  ],
  [{ type: 'future', n: 1 }, 'assistant', { type: 'future', content: { type: 'future', n: 1 } }],
];

test('every kind of item', () => {
  for (const [item, role, block] of kinds) {
    const message = openaiResponses.message(item);
    assert.equal(message, { role, content: block ? [block] : [] }, JSON.stringify(item));
    assert.equal(Message.parse(message), message);
  }
  const reference = [{ type: 'item_reference', content: { type: 'item_reference', id: 'msg_1' } }];
  for (const item of [{ id: 'msg_1' }, { id: 'msg_1', type: null }, { id: 'msg_1', type: 'item_reference' }]) {
    assert.equal(openaiResponses.message(item), { role: 'assistant', content: reference });
  }
});

test("an item's id, its status and what its client notes beside it are none of its content", () => {
  const marks = { id: 'x_1', created_by: 'u', internal_chat_message_metadata_passthrough: { turn_id: 't' } };
  const named = new Set(['mcp_approval_request', 'local_shell_call_output', 'future_call']); // by their id, or unknown
  for (const [item] of kinds.filter(([{ type }]) => !named.has(String(type)))) {
    const status = item.status ?? 'completed';
    assert.equal(openaiResponses.message({ ...item, ...marks, status }), openaiResponses.message(item));
  }
});

test('a call that the provider ran is joined to its result, with or without an item id', () => {
  const ran: [item: Record<string, unknown>, name: string, input: unknown, result: object][] = [
    [
      { type: 'web_search_call', action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'u' }] } },
      'web_search',
      { type: 'search', query: 'q' },
      { type: 'web_search_tool_result', content: [{ type: 'url', url: 'u' }] },
    ],
    [
      { type: 'file_search_call', queries: ['q'], results: [{ file_id: 'f', text: 't' }] },
      'file_search',
      { queries: ['q'] },
      { type: 'file_search_tool_result', content: [{ file_id: 'f', text: 't' }] },
    ],
    [
      { type: 'code_interpreter_call', container_id: 'cntr', code: '1', outputs: [{ type: 'logs', logs: 'l' }] },
      'code_interpreter',
      { code: '1' },
      { type: 'code_interpreter_tool_result', content: [{ type: 'logs', logs: 'l' }] },
    ],
    [
      { type: 'image_generation_call', status: 'generating', revised_prompt: 'a cat', result: 'iVBO' },
      'image_generation',
      { revised_prompt: 'a cat' },
      { type: 'image_generation_tool_result', image_base64: 'iVBO' },
    ],
    [
      { type: 'mcp_call', server_label: 's', name: 'roll', arguments: '{"n":2}', output: '4', error: null },
      'roll',
      { n: 2 },
      { type: 'mcp_tool_result', tool_output: '4' },
    ],
    [
      { type: 'mcp_call', name: 'roll', arguments: '{}', status: 'failed', output: null, error: 'no dice' },
      'roll',
      {},
      { type: 'mcp_tool_result', is_error: true, tool_output: 'no dice' },
    ],
    [
      { type: 'mcp_list_tools', server_label: 's', tools: [{ name: 'roll' }] },
      'mcp_list_tools',
      { server_label: 's' },
      { type: 'mcp_list_tools_tool_result', content: [{ name: 'roll' }] },
    ],
    [
      { type: 'code_interpreter_call', code: '1', outputs: null, status: 'failed' },
      'code_interpreter',
      { code: '1' },
      { type: 'code_interpreter_tool_result', is_error: true },
    ],
  ];
  for (const [item, tool_name, tool_input, expected] of ran) {
    const { role, content } = openaiResponses.message({ ...item, id: 'x_1' });
    const [called, answered] = content;
    const tool_use_id = called?.tool_use_id ?? '';
    assert.equal([role, called], ['assistant', { type: 'server_tool_use', tool_use_id, tool_name, tool_input }]);
    assert.match(tool_use_id, /_[0-9a-f]{16}$/);
    assert.equal(content, [called, { tool_result_id: tool_use_id, ...expected }]);
    assert.equal(openaiResponses.message(item).content, content);
    assert.equal(answered, { tool_result_id: tool_use_id, ...expected });
  }
  const under = openaiResponses.message({ type: 'web_search_call', status: 'in_progress', action: { query: 'q' } });
  assert.equal(
    under.content.map(({ type }) => type),
    ['server_tool_use'],
    'no result before it is over',
  );
});

const contentOf = (content: unknown, role = 'user') => openaiResponses.message({ role, content }).content;

test("a message's parts", () => {
  assert.equal(contentOf('hi'), [{ type: 'text', text: 'hi' }]);
  assert.equal(contentOf(''), []);
  assert.equal(contentOf(null), []);
  const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' };
  const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } };
  const byId = { type: 'input_image', file_id: 'file_1', image_url: null };
  assert.equal(
    contentOf([
      { type: 'input_text', text: 'see', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'output_text', text: 'o' },
      { type: 'text', text: 't' },
      { type: 'input_text', text: '' },
      'loose',
      { type: 'input_image', image_url: image, detail: 'high' },
      { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
      byId,
      { ...file, prompt_cache_breakpoint: { mode: 'explicit' }, cache_control: {} },
      audio,
      { type: 'refusal', refusal: 'no' },
      { type: 'future', n: 1 },
    ]),
    [
      { type: 'text', text: 'see' },
      { type: 'text', text: 'o' },
      { type: 'text', text: 't' },
      { type: 'text', text: 'loose' },
      { type: 'image', image_url: image },
      { type: 'image', media_type: 'image/png', image_base64: 'AA==' },
      { type: 'input_image', content: byId },
      { type: 'input_file', content: file },
      { type: 'input_audio', content: audio },
      { type: 'refusal', text: 'no' },
      { type: 'future', content: { type: 'future', n: 1 } },
    ],
  );
  for (const content of [7, {}, [7], [{}]]) assert.throws(() => contentOf(content), isUnreadable);
});

test('roles', () => {
  const expected = { user: 'user', assistant: 'assistant', system: 'system', developer: 'system', tool: 'tool' };
  for (const [role, ours] of Object.entries(expected)) {
    assert.is(openaiResponses.message({ type: 'message', role, content: 'x' }).role, ours);
    assert.is(openaiResponses.message({ role, content: 'x' }).role, ours);
  }
  assert.equal(contentOf('x', 'tool'), [{ type: 'tool_result', tool_result_id: '', tool_output: 'x' }]);
  for (const role of ['critic', 'constructor', '__proto__', '', null, 1]) {
    assert.throws(() => openaiResponses.message({ type: 'message', role, content: '' }), isUnreadable);
  }
  for (const element of [null, 'x', 7, [], {}, { type: '' }]) {
    assert.throws(() => openaiResponses.message(element), isUnreadable);
  }
});

const itemTypes = fc.constantFrom(
  ...new Set(['message', 'function_call', 'web_search_call', 'mcp_call', ...kinds.map(([{ type }]) => String(type))]),
);
const members = fc.constantFrom(
  'type',
  'role',
  'content',
  'summary',
  'text',
  'output',
  'arguments',
  'action',
  'actions',
  'operation',
  'results',
  'outputs',
  'error',
  'status',
  'execution',
  'environment',
  'usage',
  'id',
  'call_id',
  '__proto__',
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      itemTypes,
      fc.constantFrom<unknown>('output_text', 'assistant', 'client', 'failed', null, 7, true, Number.POSITIVE_INFINITY),
    ),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(members, tie('tree'), { maxKeys: 6 }),
  ),
}));

test('any item is read or Unreadable', () => {
  const anItem = fc
    .tuple(itemTypes, fc.dictionary(members, tree, { maxKeys: 6 }))
    .map(([type, rest]) => ({ ...rest, type }));
  fc.assert(
    fc.property(fc.oneof(anItem, tree, fc.jsonValue()), (json) => {
      readable(() => Message.parse(openaiResponses.message(json)));
      readable(() => canonicalContent(openaiResponses.message(json)));
      readable(() => Message.parse(openaiResponses.message({ role: 'user', content: [json] })));
      readable(() => Reply.parse(oneShot(json)));
      readable(() => Reply.parse(oneShot(response({ output: [json], usage: json, error: json }))));
      readable(() =>
        openaiResponses.requestHead({ input: json, conversation: json, prompt: json }, { messages: 0, tools: 0 }),
      );
    }),
    { numRuns: 1000 },
  );
});

test.run();
