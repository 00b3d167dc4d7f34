/** One command records a real conversation and shows it: the official clients, the real service, a scripted provider. */
import { execFileSync } from 'node:child_process';
import { Ollama } from 'ollama';
import * as assert from 'uvu/assert';
import { type OfficialClient, officialClients, TOOL_RESULT } from '../support/official-clients.ts';
import { eventually, read } from '../support/serve.ts';
import { onEachDatabase, recorded, type Span, sessionsOf, type Trace } from '../support/whole-service.ts';

type Coverage = { requests: number; outcomes: Record<string, number> };

const { anthropic, gemini, openaiChat, openaiResponses, ollamaChat, ollamaBare } = officialClients;

const conversations: {
  client: OfficialClient;
  stops: string[];
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  reasoning_tokens: number;
  cost_usd: number | null;
  unpriced_models: string[];
}[] = [
  {
    client: anthropic,
    stops: ['tool_use', 'end_turn'],
    // 1000 + 200 written + 300 read, then 1200 + 500 read; at 3 / 3.75 / 0.30 / 15 USD per million
    input_tokens: 3200,
    output_tokens: 75,
    cache_read_tokens: 800,
    reasoning_tokens: 0,
    cost_usd: 0.008715,
    unpriced_models: [],
  },
  {
    client: gemini,
    stops: ['STOP', 'STOP'],
    // 600 + 400 read, then 100 + 1000 read; at 0.30 / 0.03 / 2.50 USD per million
    input_tokens: 2100,
    output_tokens: 60,
    cache_read_tokens: 1400,
    reasoning_tokens: 10,
    cost_usd: 0.000402,
    unpriced_models: [],
  },
  {
    client: openaiChat,
    stops: ['tool_calls', 'stop'],
    // 600 + 400 read, then 100 + 1000 read; at 0.15 / 0.075 / 0.60 USD per million
    input_tokens: 2100,
    output_tokens: 50,
    cache_read_tokens: 1400,
    reasoning_tokens: 0,
    cost_usd: 0.00024,
    unpriced_models: [],
  },
  {
    client: openaiResponses,
    stops: ['tool_calls', 'stop'],
    // the same tokens, at 0.25 / 0.025 / 2 USD per million
    input_tokens: 2100,
    output_tokens: 50,
    cache_read_tokens: 1400,
    reasoning_tokens: 10,
    cost_usd: 0.00031,
    unpriced_models: [],
  },
  ...[ollamaChat, ollamaBare].map((client) => ({
    client,
    stops: ['stop', 'stop'],
    input_tokens: 86, // 26, then 60
    output_tokens: 21,
    cache_read_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
    unpriced_models: ['llama3.2'],
  })),
];

onEachDatabase('svc serve, with the official clients', (test) => {
  for (const { client, stops, ...usage } of conversations) {
    for (const stream of [true, false]) {
      test(`${client.name}, ${stream ? 'streamed' : 'in one piece'}: equal bytes, and a readable session`, async ({
        provider,
        service,
      }) => {
        const question = `What is the weather in Oslo? (${client.name} ${stream})`;
        const direct = client.open(provider.url, { key: 'key-direct', stream });
        const proxied = client.open(`${service.proxy}${client.prefix}`, { key: 'key-proxied', stream });
        for (const conversation of [direct, proxied])
          assert.is(await conversation.ask(question), 'It is 7 degrees in Oslo.');
        assert.is(proxied.answers.length, 2);
        assert.equal(proxied.answers, direct.answers, 'every reply is byte-equal to the direct one');
        const requests = provider.requests.slice(-4).map(({ method, url, body }) => ({ method, url, body }));
        assert.equal(requests.slice(2), requests.slice(0, 2), 'and so is every request');

        const { session, traces, links } = await recorded(service, question, 2);
        assert.is(traces.length, 1, 'one question is one trace');
        const [{ trace, spans }] = traces as [{ trace: Trace; spans: Span[] }];
        assert.is(trace.response_preview, 'It is 7 degrees in Oslo.');
        assert.is(trace.status, 'ok');
        assert.equal(
          spans.map((span) => span.kind),
          ['agent', 'llm', 'tool', 'llm'],
        );
        const [, call, tool, answer] = spans as [Span, Span, Span, Span];
        assert.equal([call.stop_reason, answer.stop_reason], stops);
        assert.equal(call.input, [{ type: 'text', text: question }]);
        assert.is(tool.name, 'get_weather');
        assert.equal(tool.input[0]?.tool_input, { city: 'Oslo', unit: 'C' });
        assert.is(tool.output[0]?.tool_output, TOOL_RESULT, 'the result is joined to its call');
        assert.equal(answer.output, [{ type: 'text', text: 'It is 7 degrees in Oslo.' }]);
        const linked = links.map(({ kind, from_span_id, to_span_id }) => [kind, from_span_id, to_span_id].join(' '));
        assert.equal(
          linked.sort(),
          [`emits ${call.span_id} ${tool.span_id}`, `feeds ${tool.span_id} ${answer.span_id}`],
          'the tool span is linked on both sides',
        );

        const alone = await read<{ session: typeof session }>(`${service.api}/v1/sessions/${session.id}`);
        for (const reported of [trace.usage, alone.session.rollup.usage])
          assert.equal(
            Object.fromEntries(Object.keys(usage).map((key) => [key, reported[key as keyof typeof reported]])),
            usage,
          );
        const document = await read<{ spans: Span[] }>(`${service.api}/v1/traces/${trace.trace_id}`);
        assert.equal(document.spans, spans);
      });
    }
  }

  test('a call that only loads a model is no turn', async ({ provider, service }) => {
    const before = (await coverageOf(service.api)).outcomes;
    for (const host of [`${service.proxy}/ollama`, service.proxy]) {
      const client = new Ollama({ host });
      const loads = [
        () => client.generate({ model: 'llama3.2', prompt: '', keep_alive: '5m' }),
        () => client.generate({ model: 'llama3.2', prompt: '', keep_alive: 0 }),
        () => client.chat({ model: 'llama3.2', messages: [], keep_alive: '5m' }),
      ];
      for (const load of loads) assert.is((await load()).done_reason, 'load');
    }
    const bare = await fetch(`${service.proxy}/ollama/api/generate`, { method: 'POST', body: '{"model":"llama3.2"}' });
    assert.is(await bare.text(), await answerOf(`${provider.url}/api/generate`, '{"model":"llama3.2"}'));
    const { outcomes } = await eventually('the ledger', async () => {
      const ledger = await coverageOf(service.api);
      return ledger.outcomes.not_a_turn === (before.not_a_turn ?? 0) + 7 && ledger;
    });
    assert.is(outcomes.captured, before.captured);
  });

  test('what is no turn passes through and is booked', async ({ provider, service }) => {
    const before = await coverageOf(service.api);
    const direct = await (await fetch(`${provider.url}/v1/models?limit=3`)).text();
    const proxied = await (await fetch(`${service.proxy}/openai/v1/models?limit=3`)).text();
    assert.is(proxied, direct);
    const last = provider.requests.at(-1);
    assert.equal([last?.method, last?.url], ['GET', '/v1/models?limit=3']);
    const coverage = await eventually('the ledger', async () => {
      const ledger = await coverageOf(service.api);
      return ledger.requests > before.requests && ledger;
    });
    assert.is(coverage.outcomes.captured, 2 * 2 * conversations.length);
    assert.is(coverage.outcomes.not_a_turn, 8);
    assert.is(coverage.requests, 2 * 2 * conversations.length + 8, 'one outcome per request');
  });

  test('each conversation is one session, and nothing else is', async ({ service }) => {
    const sessions = await sessionsOf(service);
    assert.is(sessions.length, 2 * conversations.length);
    for (const { rollup, fork_of_session_id } of sessions)
      assert.equal([rollup.turn_count, fork_of_session_id], [1, undefined]);
  });

  test('no credential is kept, anywhere', async ({ service, folder }) => {
    const found = execFileSync('sh', ['-c', `grep -rl -e key-proxied "${folder}" || true`]).toString();
    assert.is(found, '');
    assert.not.match(service.log(), 'key-proxied');
  });

  test.run();
});

const coverageOf = (api: string) => read<Coverage>(`${api}/v1/coverage`);

const answerOf = async (url: string, body: string) => (await fetch(url, { method: 'POST', body })).text();
