import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { converse, QUESTION } from '../../../../core/cli/demo/conversation.ts';
import { scriptedProvider } from '../../../../core/cli/demo/scripted-provider.ts';
import { serveApp } from '../../../../core/http/listen.ts';

const test = suite('scriptedProvider');

const client = new OpenAI({
  apiKey: 'demo',
  baseURL: 'http://provider/v1',
  maxRetries: 0,
  fetch: (input, init) => scriptedProvider(new Request(input, init)),
});
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'list_files', parameters: {} } }];
const question: OpenAI.ChatCompletionMessageParam = { role: 'user', content: QUESTION };

test('the conversation of the demo takes two tools and ends with an answer out of the file', async () => {
  const provider = await serveApp({
    fetch: (request) => {
      const url = new URL(request.url);
      assert.is(url.pathname, '/openai/v1/chat/completions');
      return scriptedProvider(request);
    },
    hosts: ['127.0.0.1'],
    port: 0,
    what: 'provider',
  });
  const lines: [string, string][] = [];
  await converse(provider.addresses[0] ?? '', (who, what) => lines.push([who, what]));
  await provider.close(0);
  assert.equal(lines, [
    ['you', QUESTION],
    ['model', "I'll see which files there are."],
    ['', 'calls list_files({})'],
    ['tool', 'README.md | rules.md | timetable.csv'],
    ['model', 'The crossings stand in timetable.csv.'],
    ['', 'calls read_file({"path":"timetable.csv"})'],
    [
      'tool',
      'departs,from,to,bicycles | 17:30,Skala,Limni,0 | 19:10,Skala,Limni,6 | 21:40,Skala,Limni,4 | 23:05,Skala,Limni,1',
    ],
    ['model', 'The 21:40 from Skala to Limni: it has room for 4 bicycles. Later ones (23:05) have no room for both.'],
  ]);
});

test('streamed and in one piece it says the same', async () => {
  for (const more of [{ tools }, {}]) {
    const body = { model: 'gpt-4.1-mini', messages: [question], ...more };
    const whole = await client.chat.completions.create(body);
    const streamed = await client.chat.completions
      .stream({ ...body, stream_options: { include_usage: true } })
      .finalChatCompletion();
    const bare = ({ choices, usage, model }: OpenAI.ChatCompletion) => ({
      choices: choices.map(({ message, finish_reason }) => [
        message.content,
        message.tool_calls?.map((call) => (call.type === 'function' ? [call.id, call.function.name] : [])) ?? [],
        finish_reason,
      ]),
      usage,
      model,
    });
    assert.equal(bare(streamed), bare(whole));
    assert.ok((whole.usage?.prompt_tokens ?? 0) > 0 && (whole.usage?.completion_tokens ?? 0) > 0);
  }
});

test('a new question in the same conversation begins with the files again', async () => {
  const { choices } = await client.chat.completions.create({
    model: 'm',
    tools,
    messages: [
      question,
      { role: 'tool', tool_call_id: 'a', content: 'times.csv' },
      { role: 'tool', tool_call_id: 'b', content: 'departs,from,to,bicycles\n08:00,Skala,Limni,1\n' },
    ],
  });
  assert.is(choices[0]?.message.content, 'None of the crossings has room for two bicycles.');
  const again = await client.chat.completions.create({
    model: 'm',
    tools,
    messages: [question, { role: 'tool', tool_call_id: 'a', content: 'times.csv' }, question],
  });
  assert.is(again.choices[0]?.finish_reason, 'tool_calls');
});

test('what it cannot answer it refuses as OpenAI would', async () => {
  const ask = (path: string, init: RequestInit) => scriptedProvider(new Request(`http://provider${path}`, init));
  const cases: [path: string, init: RequestInit, status: number][] = [
    ['/v1/models', {}, 404],
    ['/v1/messages', { method: 'POST', body: '{}' }, 404],
    ['/v1/chat/completions', {}, 404],
    ['/v1/chat/completions', { method: 'POST', body: '{' }, 400],
    ['/v1/chat/completions', { method: 'POST', body: '{"model":"m","messages":[]}' }, 400],
  ];
  for (const [path, init, status] of cases) {
    const response = await ask(path, init);
    assert.is(response.status, status, path);
    const { error } = (await response.json()) as { error: { message: string; type: string } };
    assert.match(error.message, /^Cannot /);
    assert.is(error.type, 'invalid_request_error');
  }
});

test.run();
