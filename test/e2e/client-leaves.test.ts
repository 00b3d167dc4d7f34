/** A client that leaves in the middle of an answer, in each format: nobody goes on being paid for it, and what it heard is kept. */
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { anthropic } from '../support/scripted-provider/anthropic.ts';
import { ollamaChat, ollamaGenerate } from '../support/scripted-provider/ollama.ts';
import { openaiChat } from '../support/scripted-provider/openai-chat.ts';
import { openaiResponses } from '../support/scripted-provider/openai-responses.ts';
import type { Format } from '../support/scripted-provider/script.ts';
import { eventually, read } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { callsOf, onEachDatabase, recorded, type Span } from '../support/whole-service.ts';

const SAID = 'Seventy words could follow here, if only somebody were there to hear them.';
const HEARD = 'Seventy words could follow h'; // four pieces of a stream

/** Asks, and gives the answer word by word; who stops listening has left. */
type Client = (proxy: string, question: string) => AsyncGenerator<string>;

const asks = (content: string) => [{ role: 'user' as const, content }];

const clients: Record<string, { format: Format; listen: Client; tokens: [input: number, output: number] }> = {
  'Anthropic Messages': {
    format: anthropic,
    tokens: [1500, 1], // told with the first event: 1000, 200 written to a cache, 300 read from it
    async *listen(proxy, question) {
      const client = new Anthropic({ baseURL: `${proxy}/anthropic`, apiKey: 'k' });
      const body = { model: 'claude-sonnet-4-6', max_tokens: 500, messages: asks(question), stream: true as const };
      for await (const event of await client.messages.create(body)) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text;
      }
    },
  },
  'Chat Completions': {
    format: openaiChat,
    tokens: [0, 0], // told at the end
    async *listen(proxy, question) {
      const client = new OpenAI({ baseURL: `${proxy}/openai/v1`, apiKey: 'k' });
      const body = { model: 'gpt-4o-mini', messages: asks(question), stream: true as const };
      for await (const { choices } of await client.chat.completions.create(body)) {
        yield choices[0]?.delta.content ?? '';
      }
    },
  },
  'Chat Completions that count as they go': {
    format: { ...openaiChat, answer: (...given) => counting(openaiChat.answer(...given)) },
    tokens: [12, 5],
    async *listen(proxy, question) {
      yield* clients['Chat Completions']?.listen(proxy, question) ?? [];
    },
  },
  Responses: {
    format: openaiResponses()[0],
    tokens: [0, 0],
    async *listen(proxy, question) {
      const client = new OpenAI({ baseURL: `${proxy}/openai/v1`, apiKey: 'k' });
      for await (const event of await client.responses.create({ model: 'gpt-5-mini', input: question, stream: true })) {
        if (event.type === 'response.output_text.delta') yield event.delta;
      }
    },
  },
  'Ollama’s chat': {
    format: ollamaChat,
    tokens: [0, 0],
    async *listen(proxy, question) {
      const client = new Ollama({ host: `${proxy}/ollama` });
      try {
        const pieces = await client.chat({ model: 'llama3.2', messages: asks(question), stream: true });
        for await (const { message } of pieces) yield message.content;
      } finally {
        client.abort();
      }
    },
  },
  'Ollama’s generate': {
    format: ollamaGenerate,
    tokens: [0, 0],
    async *listen(proxy, question) {
      const client = new Ollama({ host: `${proxy}/ollama` });
      try {
        const pieces = await client.generate({ model: 'llama3.2', prompt: question, stream: true });
        for await (const { response } of pieces) yield response ?? '';
      } finally {
        client.abort();
      }
    },
  },
};

/** As servers do with `continuous_usage_stats`: each chunk says how many tokens there have been. */
const counting = ({ document, stream }: ReturnType<Format['answer']>): ReturnType<Format['answer']> => ({
  document,
  stream: stream.map((event, n) => {
    if (!event.startsWith('data: {')) return event;
    const usage = { prompt_tokens: 12, completion_tokens: n + 1, total_tokens: 13 + n };
    return `data: ${JSON.stringify({ ...JSON.parse(event.slice('data: '.length)), usage })}\n\n`;
  }),
});

/** Where a request without a client of its own goes, and what it is. */
const bare: Record<string, [format: Format, path: string, body: (question: string) => object]> = {
  'Anthropic Messages': [
    anthropic,
    '/anthropic/v1/messages',
    (q) => ({ model: 'claude-sonnet-4-6', max_tokens: 500, messages: asks(q), stream: true }),
  ],
  'Chat Completions': [
    openaiChat,
    '/openai/v1/chat/completions',
    (q) => ({ model: 'gpt-4o-mini', messages: asks(q), stream: true }),
  ],
  Responses: [openaiResponses()[0], '/openai/v1/responses', (q) => ({ model: 'gpt-5-mini', input: q, stream: true })],
  'Ollama’s chat': [ollamaChat, '/ollama/api/chat', (q) => ({ model: 'llama3.2', messages: asks(q) })],
  'Ollama’s generate': [ollamaGenerate, '/ollama/api/generate', (q) => ({ model: 'llama3.2', prompt: q })],
};

let format: Format = anthropic; // of the call that comes next
let silent = false; // before the first byte of the answer
let whole = false; // the answer comes to its last event, though not to its end
const upstream = await startUpstream(() => async (request, answering) => {
  await request.whole;
  if (silent) return;
  const { stream } = format.answer(JSON.parse(request.body.toString()), { says: SAID, callsTool: false }, 'one');
  answering.writeHead(200, { 'content-type': format.streamType });
  for (const event of stream) {
    answering.write(event);
    if (!whole && event.includes(HEARD.slice(-7))) return; // and nothing more, however long it takes
  }
});
let databases = 0; // that are still to be tried

const textOf = (call: Span | undefined) => call?.output.map(({ text }) => text).join('');

onEachDatabase(
  'clients that leave',
  (test) => {
    for (const [name, client] of Object.entries(clients)) {
      test(`${name}: the upstream is left, and the turn has the words and tokens that had come`, async ({
        service,
      }) => {
        ({ format } = client);
        silent = false;
        const question = `Do you hear me? (${name})`;
        let heard = '';
        for await (const piece of client.listen(service.proxy, question)) {
          heard += piece;
          if (heard.length >= HEARD.length) break;
        }
        assert.is(heard, HEARD);
        assert.is(await upstream.requests.at(-1)?.over, true, 'the upstream is told that nobody listens');

        const session = await recorded(service, question, 1);
        const [call] = callsOf(session);
        assert.equal([call?.status, call?.error_type], ['partial', 'client_closed']);
        assert.is(session.session.rollup.status, 'interrupted');
        assert.is(textOf(call), HEARD);
        assert.equal([call?.usage.input_tokens, call?.usage.output_tokens], client.tokens);
        assert.is(session.traces[0]?.trace.response_preview, HEARD);
        const { items } = await read<{ items: { outcome: string; ending: string }[] }>(
          `${service.api}/v1/sessions/${session.session.id}/raw_turns`,
        );
        assert.equal(
          items.map(({ outcome, ending }) => [outcome, ending]),
          [['partial', 'client_closed']],
        );
      });
    }

    for (const [name, [spoken, path, body]] of Object.entries(bare)) {
      test(`${name}: who hangs up once the last event has come has heard all of it`, async ({ service }) => {
        format = spoken;
        whole = true;
        const question = `Was that all? (${name})`;
        const headers = { 'content-type': 'application/json', authorization: 'Bearer k', 'x-api-key': 'k' };
        const leaving = new AbortController();
        const { signal } = leaving;
        const request = JSON.stringify(body(question));
        const last = format.answer(JSON.parse(request), { says: SAID, callsTool: false }, 'one').stream.at(-1) ?? '';
        const answer = await fetch(`${service.proxy}${path}`, { method: 'POST', headers, body: request, signal });
        let heard = '';
        for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          heard += piece;
          if (heard.endsWith(last.trimEnd()) || heard.endsWith(last)) break;
        }
        leaving.abort();
        whole = false;
        const session = await recorded(service, question, 1);
        const [call] = callsOf(session);
        assert.equal([call?.status, call?.error_type, textOf(call)], ['ok', undefined, SAID]);
        const { items } = await read<{ items: { outcome: string; ending: string }[] }>(
          `${service.api}/v1/sessions/${session.session.id}/raw_turns`,
        );
        assert.equal(
          items.map(({ outcome, ending }) => [outcome, ending]),
          [['captured', 'client_closed']],
        );
      });
    }

    test('one that leaves before the first byte has asked all the same', async ({ service }) => {
      silent = true;
      const question = 'Are you thinking?';
      const before = upstream.requests.length;
      const leaving = new AbortController();
      const client = new Anthropic({ baseURL: `${service.proxy}/anthropic`, apiKey: 'k', maxRetries: 0 });
      const failure = client.messages
        .create({ model: 'm', max_tokens: 9, messages: asks(question) }, { signal: leaving.signal })
        .catch((error: Error) => error.constructor.name);
      await eventually('the question', async () => upstream.requests.length > before);
      await upstream.requests.at(-1)?.whole;
      leaving.abort();
      assert.is(await failure, 'APIUserAbortError');
      assert.is(await upstream.requests.at(-1)?.over, true);
      const [call] = callsOf(await recorded(service, question, 1));
      assert.equal([call?.status, call?.error_type, call?.output], ['error', 'client_closed', []]);
    });

    databases++;
    test.after(async () => {
      if (--databases === 0) await upstream.close();
    });
    test.run();
  },
  {
    SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url,
    SVC_PROXY_UPSTREAMS_OPENAI: upstream.url,
    SVC_PROXY_UPSTREAMS_OLLAMA: upstream.url,
  },
);
