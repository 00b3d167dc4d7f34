import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { ollamaGenerate } from '../../../core/provider/ollama-generate.ts';
import { created_at, figures, ndjson } from '../../support/ollama-streams.ts';
import { pieces, utf8 } from '../../support/provider-streams.ts';

const test = suite('ollamaGenerate');

const stream = 'application/x-ndjson';
const replyTo = (body: string, contentType = stream) => ollamaGenerate.reply(utf8(body), contentType);
const oneShot = (document: unknown) => replyTo(JSON.stringify(document), 'application/json; charset=utf-8');
const isUnreadable = (error: unknown) => error instanceof Unreadable;

const document = {
  model: 'llama3.2',
  created_at,
  response: '{\n  "age": 22,\n  "available": true\n} €',
  thinking: 'JSON is asked for.',
  done: true,
  done_reason: 'stop',
  context: [1, 2, 3],
  logprobs: [{ token: '{', logprob: -0.1 }],
  ...figures,
};

function chunksOf({ response, thinking, ...tail }: typeof document, length = 7): object[] {
  const head = { model: tail.model, created_at, done: false };
  return [
    ...pieces(thinking, length).map((piece) => ({ ...head, response: '', thinking: piece })),
    ...pieces(response, length).map((piece) => ({ ...head, response: piece })),
    { ...tail, response: '' },
  ];
}

test('a reply is its thinking and its text, whatever format was asked for', () => {
  const reply = oneShot(document);
  assert.equal(reply, {
    content: [
      { type: 'thinking', thinking: 'JSON is asked for.' },
      { type: 'text', text: '{\n  "age": 22,\n  "available": true\n} €' },
    ],
    model: 'llama3.2',
    response_id: '',
    stop_reason: 'stop',
    usage: {
      input_tokens: 26,
      output_tokens: 290,
      cache_read_tokens: 0,
      cache_write_5m_tokens: 0,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 0,
    },
    usage_verbatim: figures,
    complete: true,
    error: null,
  });
  assert.equal(Reply.parse(reply), reply);
});

test('streamed and in one piece, a reply is the same, whatever the content type', () => {
  for (const contentType of [stream, 'application/json', '']) {
    for (const length of [1, 7, 1000]) {
      assert.equal(replyTo(ndjson(chunksOf(document, length)), contentType), oneShot(document));
    }
    assert.equal(replyTo(JSON.stringify(document), contentType), oneShot(document));
  }
});

test('a stream cut at any byte says less, never more', () => {
  const bytes = utf8(ndjson(chunksOf(document)));
  for (let length = 0; length < bytes.length - 1; length++) {
    const cut = ollamaGenerate.reply(bytes.subarray(0, length), stream);
    assert.equal([cut.complete, cut.error, cut.stop_reason, cut.usage], [false, null, '', null], `cut at ${length}`);
    assert.equal(Reply.parse(cut), cut);
  }
});

test('errors: a document, or a line within the stream', () => {
  const error = { type: 'error', message: 'an error was encountered while running the model' };
  assert.equal(oneShot({ error: error.message }).error, error);
  const midStream = replyTo(ndjson([...chunksOf(document).slice(0, 6), { error: error.message }]));
  assert.equal([midStream.error, midStream.complete, midStream.content.length], [error, false, 2]);
});

test("the other format's answer is none of this one's", () => {
  assert.throws(() => oneShot({ message: { role: 'assistant', content: 'hi' } }), isUnreadable);
});

test('the prompt is the one message, with its images and what follows the answer', () => {
  const cases: [skeleton: Record<string, unknown>, messages: Message[]][] = [
    [{ prompt: 'Why?' }, [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }]],
    [
      { prompt: 'def f():', suffix: '    return x' },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'def f():' },
            { type: 'suffix', text: '    return x' },
          ],
        },
      ],
    ],
    [
      { prompt: 'What is this?', images: ['iVBORw0KGgoAAAANSUhEUg=='] },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', media_type: 'image/png', image_base64: 'iVBORw0KGgoAAAANSUhEUg==' },
          ],
        },
      ],
    ],
    [{ system: 'be brief', template: '{{ .Prompt }}', context: [1, 2] }, []],
    [{ prompt: '', suffix: '', images: [] }, []],
  ];
  for (const [skeleton, messages] of cases) {
    assert.equal(ollamaGenerate.messagesOutside(skeleton), messages);
    assert.is(ollamaGenerate.isNoOp(skeleton, { messages: 0 }), messages.length === 0, JSON.stringify(skeleton));
  }
});

test('a suffix moves the hash', () => {
  const hashed = (suffix: string) =>
    ollamaGenerate.messagesOutside({ prompt: 'def f():', suffix }).map((message) => canonicalContent(message));
  assert.is.not(hashed('a')[0], hashed('b')[0]);
});

test('without prompt, suffix and images a model is loaded or unloaded', () => {
  const isNoOp = (skeleton: Record<string, unknown>) => ollamaGenerate.isNoOp(skeleton, { messages: 0 });
  for (const skeleton of [{}, { keep_alive: 0 }, { prompt: null, images: null }]) assert.ok(isNoOp(skeleton));
  for (const skeleton of [{ prompt: 7 }, { suffix: 'x' }, { images: ['AAAA'] }]) assert.not(isNoOp(skeleton));
  const reply = oneShot({ model: 'llama3.2', created_at, response: '', done: true, done_reason: 'unload' });
  assert.equal([reply.content, reply.stop_reason, reply.complete, reply.usage], [[], 'unload', true, null]);
});

test('what a request asks for', () => {
  const head = (skeleton: Record<string, unknown>) => ollamaGenerate.requestHead(skeleton, { messages: 1, tools: 0 });
  assert.equal(head({ model: 'm', prompt: 'x', stream: false, options: { num_predict: 5 } }), {
    model: 'm',
    stream: false,
    max_tokens: 5,
    tool_count: 0,
    conversation_id: '',
    previous_response_id: '',
  });
  assert.is(head({ suffix: 'x' }).stream, true);
  for (const skeleton of [{ prompt: 7 }, { prompt: ['x'] }, { suffix: {} }])
    assert.throws(() => head(skeleton), isUnreadable);
});

test('calls that are turns, under any prefix', () => {
  for (const path of ['/api/generate', '/ollama/api/generate/']) assert.ok(ollamaGenerate.matches('POST', path), path);
  for (const path of ['/generate', '/api/generated', '/api/chat', '/api/embed']) {
    assert.not(ollamaGenerate.matches('POST', path), path);
  }
  assert.not(ollamaGenerate.matches('GET', '/api/generate'));
});

test('there is no list of messages', () => {
  assert.is(ollamaGenerate.messagesKey, null);
  assert.throws(() => ollamaGenerate.message({ role: 'user', content: 'hi' }), isUnreadable);
});

test('what is nested 10,000 deep is Unreadable', () => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  assert.throws(() => ollamaGenerate.messagesOutside({ prompt: '', images: [JSON.parse(deep)] }), isUnreadable);
  for (const contentType of [stream, 'application/json']) {
    assert.throws(() => replyTo(`{"response":"a","context":${deep}}`, contentType), isUnreadable);
  }
});

test('arbitrary JSON is read or Unreadable', () => {
  const readable = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      assert.instance(error, Unreadable);
    }
  };
  const word = fc.constantFrom('response', 'thinking', 'done', 'error', 'prompt', 'suffix', 'images', 'eval_count');
  const json = fc.oneof(fc.jsonValue(), fc.dictionary(word, fc.jsonValue(), { maxKeys: 5 }));
  fc.assert(
    fc.property(fc.array(json, { maxLength: 4 }), fc.nat(200), (jsons, cut) => {
      for (const one of jsons) {
        readable(() => Reply.parse(oneShot(one)));
        readable(() => ollamaGenerate.message(one));
        const full = { prompt: one, suffix: one, images: one, options: one };
        for (const skeleton of [full, { images: [one] }, { ...full, prompt: 'x' }]) {
          readable(() =>
            ollamaGenerate.messagesOutside(skeleton).map((message) => canonicalContent(Message.parse(message))),
          );
          readable(() => ollamaGenerate.requestHead(skeleton, { messages: 0, tools: 0 }));
          ollamaGenerate.isNoOp(skeleton, { messages: 0 });
        }
      }
      const body = ndjson([...jsons, ...jsons.map((response) => ({ response, thinking: response, done: response }))]);
      readable(() => Reply.parse(replyTo(body)));
      readable(() => Reply.parse(replyTo(body.slice(0, cut))));
    }),
    { numRuns: 500 },
  );
});

test.run();
