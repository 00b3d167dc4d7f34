/** One command records a real conversation and shows it: the official clients, the real service, a scripted provider. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../support/databases.ts';
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';

type Span = {
  kind: string;
  name: string;
  status: string;
  model: string;
  stop_reason: string;
  input: { type: string; text?: string; tool_input?: unknown }[];
  output: { type: string; text?: string; tool_output?: string }[];
  usage: Record<string, number | null>;
};
type Trace = {
  trace_id: string;
  user_prompt: string;
  response_preview: string;
  status: string;
  usage: Record<string, number | null>;
};
type SessionTraces = { traces: { trace: Trace; spans: Span[] }[]; links: { kind: string }[] };
type Listed = {
  items: { id: string; harness_id: string; rollup: { turn_count: number; usage: Record<string, number | null> } }[];
};

const tools = [
  {
    name: 'get_weather',
    description: 'The weather of a city',
    input_schema: { type: 'object' as const, properties: { city: { type: 'string' }, unit: { type: 'string' } } },
  },
];

/** A `fetch` that keeps the bytes of each answer, so that what a client got can be compared. */
function keepingBytes(kept: string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const bytes = Buffer.from(await response.arrayBuffer());
    kept.push(bytes.toString('base64'));
    return new Response(new Uint8Array(bytes), { status: response.status, headers: response.headers });
  };
}

async function anthropicConversation(
  baseURL: string,
  apiKey: string,
  stream: boolean,
  question: string,
): Promise<string[]> {
  const kept: string[] = [];
  const client = new Anthropic({ baseURL, apiKey, fetch: keepingBytes(kept), maxRetries: 0 });
  const ask = (messages: Anthropic.MessageParam[]) => {
    const body = { model: 'claude-sonnet-4-6', max_tokens: 500, tools, messages };
    return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
  };
  const first: Anthropic.MessageParam[] = [{ role: 'user', content: question }];
  const called = await ask(first);
  const use = called.content.find((block) => block.type === 'tool_use');
  assert.ok(use, 'the provider asks for the tool');
  const answered = await ask([
    ...first,
    { role: 'assistant', content: called.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '7 C, rain' }] },
  ]);
  assert.equal(
    answered.content.map((block) => (block.type === 'text' ? block.text : block.type)),
    ['It is 7 degrees in Oslo.'],
  );
  return kept;
}

async function openaiConversation(
  baseURL: string,
  apiKey: string,
  stream: boolean,
  question: string,
): Promise<string[]> {
  const kept: string[] = [];
  const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, fetch: keepingBytes(kept), maxRetries: 0 });
  const ask = (messages: OpenAI.ChatCompletionMessageParam[]) => {
    const body = {
      model: 'gpt-4o-mini',
      messages,
      tools: tools.map(({ name, description, input_schema }) => ({
        type: 'function' as const,
        function: { name, description, parameters: input_schema },
      })),
    };
    return stream
      ? client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      : client.chat.completions.create(body);
  };
  const first: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const called = (await ask(first)).choices[0]?.message;
  const use = called?.tool_calls?.[0];
  assert.ok(called && use, 'the provider asks for the tool');
  const answered = await ask([...first, called, { role: 'tool', tool_call_id: use.id, content: '7 C, rain' }]);
  assert.is(answered.choices[0]?.message.content, 'It is 7 degrees in Oslo.');
  return kept;
}

/** The session whose only trace has this prompt, once it is derived to its end. */
const sessionOf = (service: Service, question: string) =>
  eventually(`the session of "${question}"`, async () => {
    const { items } = await read<Listed>(`${service.api}/v1/sessions`);
    for (const { id } of items) {
      const { traces, links } = await read<SessionTraces>(`${service.api}/v1/sessions/${id}/traces`);
      const found = traces.find(({ trace }) => trace.user_prompt === question);
      if (found && found.spans.filter((span) => span.kind === 'llm').length === 2)
        return { id, traces, links, ...found };
    }
    return null;
  });

const conversations = [
  {
    client: '@anthropic-ai/sdk',
    converse: anthropicConversation,
    prefix: '/anthropic',
    stops: ['tool_use', 'end_turn'],
    // 1000 + 200 written + 300 read, then 1200 + 500 read; at 3 / 3.75 / 0.30 / 15 USD per million
    input_tokens: 3200,
    output_tokens: 75,
    cache_read_tokens: 800,
    cost_usd: 0.008715,
  },
  {
    client: 'openai',
    converse: openaiConversation,
    prefix: '/openai',
    stops: ['tool_calls', 'stop'],
    // 600 + 400 read, then 100 + 1000 read; at 0.15 / 0.075 / 0.60 USD per million
    input_tokens: 2100,
    output_tokens: 50,
    cache_read_tokens: 1400,
    cost_usd: 0.00024,
  },
];

/** The whole test on one kind of database; `dsn` is empty for the embedded one. */
function declare(
  kind: 'embedded' | 'server',
  makeDatabase: () => Promise<{ dsn: string; drop(): Promise<unknown> }>,
): void {
  const test = suite<{ provider: ScriptedProvider; service: Service; folder: string; drop(): Promise<unknown> }>(
    `svc serve, with the official clients (${kind})`,
  );
  test.before(async (context) => {
    const { dsn, drop } = await makeDatabase();
    context.drop = drop;
    context.provider = await startScriptedProvider();
    context.folder = await emptyFolder();
    context.service = await startService(context.folder, {
      SVC_PROXY_UPSTREAMS_ANTHROPIC: context.provider.url,
      SVC_PROXY_UPSTREAMS_OPENAI: context.provider.url,
      ...(dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn }),
    });
  });
  test.after(async ({ provider, service, folder, drop }) => {
    assert.is(await service.stop(), 0, 'svc serve ends with status 0 on SIGTERM');
    await provider.close();
    await removeFolder(folder);
    await drop();
  });

  for (const {
    client,
    converse,
    prefix,
    stops,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cost_usd,
  } of conversations) {
    for (const stream of [true, false]) {
      test(`${client}, ${stream ? 'streamed' : 'in one piece'}: equal bytes, and a readable session`, async ({
        provider,
        service,
      }) => {
        const question = `What is the weather in Oslo? (${client} ${stream})`;
        const direct = await converse(provider.url, 'key-direct', stream, question);
        const proxied = await converse(`${service.proxy}${prefix}`, 'key-proxied', stream, question);
        assert.equal(proxied, direct, 'every reply is byte-equal to the direct one');

        const { id, trace, spans, traces, links } = await sessionOf(service, question);
        assert.is(traces.length, 1, 'one question is one trace');
        assert.is(trace.response_preview, 'It is 7 degrees in Oslo.');
        assert.is(trace.status, 'ok');
        assert.equal(
          spans.map((span) => span.kind),
          ['agent', 'llm', 'tool', 'llm'],
        );
        const [, call, tool, answer] = spans as [Span, Span, Span, Span];
        assert.equal([call.stop_reason, answer.stop_reason], stops);
        assert.is(tool.name, 'get_weather');
        assert.equal(tool.input[0]?.tool_input, { city: 'Oslo', unit: 'C' });
        assert.is(tool.output[0]?.tool_output, '7 C, rain', 'the result is joined to its call');
        assert.equal(answer.output[0]?.text, 'It is 7 degrees in Oslo.');
        assert.ok(
          links.some((link) => link.kind === 'emits') && links.some((link) => link.kind === 'feeds'),
          'the tool span is linked on both sides',
        );
        const { session } = await read<{ session: Listed['items'][0] }>(`${service.api}/v1/sessions/${id}`);
        assert.is(session.id, id);
        for (const usage of [trace.usage, session.rollup.usage]) {
          assert.is(usage.input_tokens, input_tokens);
          assert.is(usage.output_tokens, output_tokens);
          assert.is(usage.cost_usd, cost_usd);
        }
        assert.is(trace.usage.cache_read_tokens, cache_read_tokens);
        const alone = await read<{ trace: Trace; spans: Span[] }>(`${service.api}/v1/traces/${trace.trace_id}`);
        assert.equal(alone.spans, spans);
      });
    }
  }

  test('what is no turn passes through and is booked', async ({ provider, service }) => {
    const direct = await (await fetch(`${provider.url}/v1/models?limit=3`)).text();
    const proxied = await (await fetch(`${service.proxy}/openai/v1/models?limit=3`)).text();
    assert.is(proxied, direct);
    const last = provider.requests.at(-1);
    assert.equal([last?.method, last?.url], ['GET', '/v1/models?limit=3']);
    const coverage = await eventually('the ledger', async () => {
      const ledger = await read<{ requests: number; outcomes: Record<string, number> }>(`${service.api}/v1/coverage`);
      return ledger.outcomes.not_a_turn ? ledger : null;
    });
    assert.is(coverage.outcomes.captured, 8);
    assert.is(coverage.outcomes.not_a_turn, 1);
    assert.is(coverage.requests, 9, 'one outcome per request');
  });

  test('no credential is kept, anywhere', async ({ service, folder }) => {
    const { execFileSync } = await import('node:child_process');
    const found = execFileSync('sh', ['-c', `grep -rl -e key-proxied "${folder}" || true`]).toString();
    assert.is(found, '');
    assert.not.match(service.log(), 'key-proxied');
  });

  test.run();
}

declare('embedded', async () => ({ dsn: '', drop: async () => {} }));
const cluster = process.env.SVC_TEST_DSN;
if (cluster) declare('server', () => emptyServerDatabase(cluster));
else console.log('skip: svc serve, with the official clients (server): SVC_TEST_DSN is not set');
