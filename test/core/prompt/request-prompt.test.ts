/** The blocks of a request of each wire format: tools, system prompt, messages, in cache order. */
import { createHash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../core/merkle/canonical-json.ts';
import { formats } from '../../../core/provider/formats.ts';
import { promptIn, readPrompt } from '../../support/prompt-of.ts';
import { valueAtPath } from '../../support/value-at-path.ts';

const test = suite('requestPrompt');

type Planted = {
  request: Record<string, unknown>;
  blocks: [section: string, kind: string, path: string, label: string][];
  url?: string;
};

const declared = (name: string) => ({ type: 'function', function: { name, description: 'd', parameters: {} } });
const PICTURE = 'iVBORw0KGgo=';

const planted: Record<(typeof formats)[number]['id'], Planted> = {
  'anthropic.messages': {
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '<system-reminder>dates</system-reminder>' },
            { type: 'text', text: 'hi' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'tool_use', id: 't1', name: 'Read', input: {} },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'found' }] }],
        },
        { role: 'assistant', content: 'done' },
      ],
      system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'Read', description: 'reads', input_schema: {} }],
      model: 'm',
    },
    blocks: [
      ['tools', 'tool-definition', 'tools[0]', 'Read'],
      ['system', 'instructions', 'system[0]', 'be brief'],
      ['messages', 'injected', 'messages[0].content[0]', '<system-reminder>dates</system-reminder>'],
      ['messages', 'user', 'messages[0].content[1]', 'hi'],
      ['messages', 'thinking', 'messages[1].content[0]', 'hm'],
      ['messages', 'tool-call', 'messages[1].content[1]', 'Read'],
      ['messages', 'tool-result', 'messages[2].content[0]', 'found'],
      ['messages', 'assistant', 'messages[3].content', 'done'],
    ],
  },
  'openai.chat': {
    request: {
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'read', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'found' },
      ],
      tools: [declared('read')],
    },
    blocks: [
      ['tools', 'tool-definition', 'tools[0]', 'read'],
      ['system', 'instructions', 'messages[0].content', 'be brief'],
      ['messages', 'user', 'messages[1].content[0]', 'look'],
      ['messages', 'image', 'messages[1].content[1]', 'image'],
      ['messages', 'thinking', 'messages[2].reasoning_content', 'hm'],
      ['messages', 'tool-call', 'messages[2].tool_calls[0]', 'read'],
      ['messages', 'tool-result', 'messages[3]', 'found'],
    ],
  },
  'openai.responses': {
    request: {
      model: 'm',
      instructions: 'be brief',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
        { role: 'user', content: 'look' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'e' },
        { type: 'function_call', call_id: 'c', name: 'read', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'found' },
      ],
      tools: [{ type: 'function', name: 'read', parameters: {} }, { type: 'web_search' }],
    },
    blocks: [
      ['tools', 'tool-definition', 'tools[0]', 'read'],
      ['tools', 'tool-definition', 'tools[1]', 'web_search'],
      ['system', 'instructions', 'instructions', 'be brief'],
      ['system', 'instructions', 'input[0].content[0]', 'rules'],
      ['messages', 'user', 'input[1].content', 'look'],
      ['messages', 'thinking', 'input[2]', 'hm'],
      ['messages', 'tool-call', 'input[3]', 'read'],
      ['messages', 'tool-result', 'input[4]', 'found'],
    ],
  },
  'gemini.generate': {
    url: '/v1beta/models/gemini-2.5-flash:generateContent',
    request: {
      contents: [
        { role: 'user', parts: [{ text: 'look' }, { inline_data: { mime_type: 'image/png', data: PICTURE } }] },
        { role: 'model', parts: [{ text: 'hm', thought: true }, { functionCall: { name: 'read', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: 'found' } } }] },
      ],
      systemInstruction: { parts: [{ text: 'be brief' }] },
      tools: [{ functionDeclarations: [{ name: 'read' }, { name: 'write' }] }, { googleSearch: {} }],
    },
    blocks: [
      ['tools', 'tool-definition', 'tools[0].functionDeclarations[0]', 'read'],
      ['tools', 'tool-definition', 'tools[0].functionDeclarations[1]', 'write'],
      ['tools', 'tool-definition', 'tools[1]', 'googleSearch'],
      ['system', 'instructions', 'systemInstruction.parts[0]', 'be brief'],
      ['messages', 'user', 'contents[0].parts[0]', 'look'],
      ['messages', 'image', 'contents[0].parts[1]', 'image'],
      ['messages', 'thinking', 'contents[1].parts[0]', 'hm'],
      ['messages', 'tool-call', 'contents[1].parts[1]', 'read'],
      ['messages', 'tool-result', 'contents[2].parts[0]', 'found'],
    ],
  },
  'ollama.chat': {
    request: {
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'look', images: [PICTURE] },
        { role: 'assistant', content: '', thinking: 'hm', tool_calls: [{ function: { name: 'read', arguments: {} } }] },
        { role: 'tool', tool_name: 'read', content: 'found' },
      ],
      tools: [declared('read')],
    },
    blocks: [
      ['tools', 'tool-definition', 'tools[0]', 'read'],
      ['system', 'instructions', 'messages[0].content', 'be brief'],
      ['messages', 'user', 'messages[1].content', 'look'],
      ['messages', 'image', 'messages[1].images[0]', 'image'],
      ['messages', 'thinking', 'messages[2].thinking', 'hm'],
      ['messages', 'tool-call', 'messages[2].tool_calls[0]', 'read'],
      ['messages', 'tool-result', 'messages[3]', 'found'],
    ],
  },
  'ollama.generate': {
    request: { model: 'm', prompt: 'look', system: 'be brief', context: [1, 2, 3], images: [PICTURE] },
    blocks: [
      ['system', 'instructions', 'system', 'be brief'],
      ['messages', 'other', 'context', 'context'],
      ['messages', 'user', 'prompt', 'look'],
      ['messages', 'image', 'images[0]', 'image'],
    ],
  },
};

for (const { id } of formats)
  test(`${id}: each block with its section, kind, path and label, and exactly that part of the request`, () => {
    const { request, blocks, url } = planted[id];
    const spaced = JSON.stringify(request, null, 1);
    for (const body of [JSON.stringify(request), spaced]) {
      const prompt = promptIn(id, body, url === undefined ? {} : { url });
      assert.equal(
        prompt.blocks.map(({ section, kind, path, label }) => [section, kind, path, label]),
        blocks,
      );
      for (const block of prompt.blocks) {
        const value = valueAtPath(request, block.path);
        assert.equal(block.json(), value, block.path);
        assert.is(block.bytes, block.raw().byteLength);
        assert.ok(body.includes(Buffer.from(block.raw()).toString()), block.path);
        if (typeof value === 'string' || 'cache_control' in Object(value)) continue;
        assert.is(block.id, createHash('sha256').update(canonicalJson(value)).digest('hex'), block.path);
      }
      assert.ok(prompt.parameters.some(({ name, value }) => name === 'model' && JSON.parse(value) !== ''));
    }
  });

test('a Gemini request with one element in place of a list has the same blocks', () => {
  const single = {
    contents: { role: 'USER', parts: { text: 'look' } },
    system_instruction: { parts: { text: 'be brief' } },
    tools: { functionDeclarations: { name: 'read' } },
  };
  const { blocks } = promptIn('gemini.generate', single);
  assert.equal(
    blocks.map(({ section, kind, path, label }) => [section, kind, path, label]),
    [
      ['tools', 'tool-definition', 'tools.functionDeclarations', 'read'],
      ['system', 'instructions', 'system_instruction.parts', 'be brief'],
      ['messages', 'user', 'contents.parts', 'look'],
    ],
  );
  for (const block of blocks) assert.equal(block.json(), valueAtPath(single, block.path), block.path);
});

test('a body that repeats a key, or has its arrays where nobody expects them, is read as a parser reads it', () => {
  const repeated =
    '{"messages":[{"role":"user","content":"old"}],"model":"m","messages":[{"role":"user","content":"new"}]}';
  assert.equal(
    promptIn('anthropic.messages', repeated).blocks.map(({ label }) => label),
    ['new'],
  );
  const odd = { messages: { role: 'user' }, system: 7, tools: 'none' };
  assert.ok(readPrompt('anthropic.messages', odd));
});

test('what is no JSON object has no prompt', () => {
  for (const body of ['', '[]', '7', '{"messages":[', '{"messages":[{]}', `${'['.repeat(2_000)}`])
    assert.is(readPrompt('anthropic.messages', body), null, body.slice(0, 20));
});

test('parameters of the cache key come with the header of betas', () => {
  const { parameters } = promptIn(
    'anthropic.messages',
    { model: 'm', messages: [], thinking: { type: 'disabled' }, max_tokens: 7 },
    { headers: [['Anthropic-Beta', 'one,two']] },
  );
  assert.equal(parameters, [
    { name: 'model', value: '"m"', keyed: true },
    { name: 'thinking', value: '{"type":"disabled"}', keyed: true },
    { name: 'anthropic-beta', value: '"one,two"', keyed: true },
    { name: 'max_tokens', value: '7', keyed: false },
  ]);
});

test.run();
