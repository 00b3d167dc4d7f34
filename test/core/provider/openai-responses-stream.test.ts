import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Reply } from '../../../core/model/reply.ts';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';
import { namedEvents, utf8 } from '../../support/provider-streams.ts';
import {
  oneShot,
  outputMessage,
  readable,
  replyTo,
  replyToEvents,
  response,
  responseUsage,
  richResponse,
  saysNoMore,
  sse,
  use,
} from '../../support/responses.ts';
import { type ResponseDocument, type ResponseEvent, responseEvents } from '../../support/responses-streams.ts';

const test = suite('openaiResponses, streams');

test('streamed and in one piece, a reply is the same', () => {
  for (const length of [1, 7, 1000])
    assert.equal(replyToEvents(responseEvents(richResponse, length)), oneShot(richResponse));
  const cut = response({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ ...outputMessage('Once upon'), status: 'incomplete' }],
  });
  assert.equal(replyToEvents(responseEvents(cut)), oneShot(cut));
  const failed = response({
    status: 'failed',
    error: { code: 'server_error', message: 'm' },
    output: [outputMessage('a')],
  });
  assert.equal(replyToEvents(responseEvents(failed)), oneShot(failed));
});

test('a terminal event without output has the items that came before it', () => {
  const events = responseEvents(richResponse);
  for (const missing of [{ output: [] }, { output: undefined }]) {
    const bare = [...events.slice(0, -1), { type: 'response.completed', response: { ...richResponse, ...missing } }];
    assert.equal(replyToEvents(bare), oneShot(richResponse));
  }
  const least = { type: 'response.completed', response: { id: 'resp_1' } };
  const reply = replyToEvents([...events.slice(0, -1), least]);
  assert.equal(reply, { ...oneShot(richResponse), usage: null, usage_verbatim: null });
});

test('items are told apart by index whatever their order, and by id or by turns where there is none', () => {
  const added = (item: object, at: object) => ({ type: 'response.output_item.added', item, ...at });
  const delta = (at: object, piece: string) => ({
    type: 'response.function_call_arguments.delta',
    delta: piece,
    ...at,
  });
  const call = (id: string) => ({ type: 'function_call', id, call_id: `call_${id}`, name: 'f', arguments: '' });
  const expected = [use('call_a', 'f', { x: 1 }), use('call_b', 'f', { y: 2 })];
  const byIndex = [
    added(call('b'), { output_index: 4 }),
    added(call('a'), { output_index: 2 }),
    delta({ output_index: 2 }, '{"x"'),
    delta({ output_index: 4 }, '{"y":2}'),
    delta({ output_index: 2 }, ':1}'),
  ];
  const byId = [
    added(call('a'), {}),
    added(call('b'), {}),
    delta({ item_id: 'a' }, '{"x"'),
    delta({ item_id: 'b' }, '{"y":2}'),
    delta({ item_id: 'a' }, ':1}'),
    { type: 'response.output_item.done', item: { ...call('a'), arguments: '{"x":1}' } },
  ];
  const byTurns = [added(call('a'), {}), delta({}, '{"x":1}'), added(call('b'), {}), delta({}, '{"y":2}')];
  for (const events of [byIndex, byId, byTurns]) assert.equal(replyToEvents(events).content, expected);
});

test('deltas whose start was lost, late ones, and events that are unknown', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":1}' };
  const reply = replyToEvents([
    { type: 'codex.rate_limits', rate_limits: {} },
    { type: 'response.output_text.delta', output_index: 1, content_index: 1, delta: 'b' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'a' },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'why' },
    { type: 'response.output_item.done', output_index: 2, item: outputMessage('c') },
    { type: 'response.output_text.delta', output_index: 2, content_index: 0, delta: 'd' },
    { type: 'response.output_item.done', output_index: 3, item: call },
    { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{"y":2}' },
    { type: 'response.future.delta', output_index: 3, delta: 'x' },
  ]);
  assert.equal(reply.content, [
    { type: 'thinking', thinking: 'why' },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    { type: 'text', text: 'c' },
    use('c', 'f', { x: 1 }),
  ]);
  assert.equal([reply.complete, reply.usage, reply.usage_verbatim, reply.stop_reason], [false, null, null, '']);
});

test('a stream cut at any byte says less, never more, and is not complete', () => {
  const events = responseEvents(richResponse, 5);
  const bytes = utf8(namedEvents(events));
  const whole = openaiResponses.reply(bytes, sse);
  const lastEvent = bytes.length - utf8(namedEvents(events.slice(-1))).length;
  for (let length = 0; length < bytes.length; length += length % 7 === 0 ? 1 : 3) {
    const cut = openaiResponses.reply(bytes.subarray(0, length), sse);
    assert.ok(!cut.complete || length > lastEvent, `complete at ${length}`);
    assert.is(cut.error, null);
    saysNoMore(cut.content, whole.content, `at ${length}`);
    assert.equal(cut.complete ? whole.usage : null, cut.usage);
    assert.equal(Reply.parse(cut), cut);
  }
});

test('what an unfinished call was asked for stays readable', () => {
  const events = responseEvents(response({ output: [richResponse.output[4] ?? {}] }));
  const at = events.findIndex(({ type }) => type === 'response.function_call_arguments.delta');
  const reply = replyToEvents(events.slice(0, at + 1));
  assert.equal(reply.content, [use('call_2', 'spawn_agent', { _unparsed: '{"path"' })]);
});

test('any reply is the same streamed, without a terminal output, and when it comes back as history', () => {
  const id = fc.string({ minLength: 1 });
  const text = fc.string({ unit: 'binary' });
  const item = fc.oneof(
    fc.record({
      type: fc.constant('message'),
      id,
      role: fc.constant('assistant'),
      content: fc.array(
        fc.oneof(
          fc.record({ type: fc.constant('output_text'), text }),
          fc.record({ type: fc.constant('refusal'), refusal: text }),
        ),
        { maxLength: 3 },
      ),
    }),
    fc.record({
      type: fc.constant('reasoning'),
      id,
      summary: fc.array(fc.record({ type: fc.constant('summary_text'), text }), { maxLength: 2 }),
      content: fc.array(fc.record({ type: fc.constant('reasoning_text'), text }), { maxLength: 2 }),
      encrypted_content: fc.option(text),
    }),
    fc.record({
      type: fc.constant('function_call'),
      id,
      call_id: text,
      name: text,
      arguments: fc.oneof(fc.json(), text),
    }),
    fc.record({ type: fc.constant('custom_tool_call'), id, call_id: text, name: text, input: text }),
    fc.record({ type: fc.constant('mcp_call'), id, name: text, arguments: fc.json(), output: fc.option(text) }),
    fc.record({
      type: fc.constant('code_interpreter_call'),
      id,
      code: text,
      outputs: fc.option(fc.array(fc.jsonValue())),
    }),
    fc.record({ type: fc.constant('web_search_call'), id, action: fc.dictionary(fc.string(), fc.jsonValue()) }),
    fc.record({ type: fc.constantFrom('compaction', 'future', 'future_call'), id, some: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (output, length) => {
      const document = JSON.parse(JSON.stringify(response({ output }))) as ResponseDocument;
      const whole = oneShot(document);
      assert.equal(replyToEvents(responseEvents(document, length)), whole);
      const bare = [
        ...responseEvents(document, length).slice(0, -1),
        { type: 'response.completed', response: { ...document, output: [] } },
      ];
      assert.equal(replyToEvents(bare), whole);
      const history = document.output.map(({ id: _id, status: _status, ...rest }) => openaiResponses.message(rest));
      assert.equal(
        history.flatMap(({ content }) => content),
        whole.content,
      );
      assert.ok(history.every(({ role }) => role === 'assistant'));
      canonicalContent({ role: 'assistant', content: whole.content });
    }),
  );
});

test('an error within the stream', () => {
  const begun = responseEvents(richResponse).slice(0, 9);
  const events: [event: ResponseEvent, type: string, message: string][] = [
    [{ type: 'error', code: 'rate_limit_exceeded', message: 'm' }, 'rate_limit_exceeded', 'm'],
    [{ type: 'error', code: null, message: 'm' }, 'error', 'm'],
    [{ type: 'error', error: { type: 't', code: 'c', message: 'm' } }, 'c', 'm'],
    [{ type: 'error', error: { type: 't', message: 'm' } }, 't', 'm'],
    [{ type: 'error', error: 'm' }, 'error', 'm'],
  ];
  for (const [event, type, message] of events) {
    const reply = replyToEvents([...begun, event]);
    assert.equal([reply.error, reply.complete], [{ type, message }, false]);
    assert.ok(reply.content.length > 0);
  }
  const failed = (error: unknown) =>
    replyToEvents([
      ...begun,
      { type: 'response.failed', response: { ...richResponse, status: 'failed', output: [], error } },
    ]);
  const failure = failed({ code: 'context_length_exceeded', message: 'm' });
  assert.equal(failure.error, { type: 'context_length_exceeded', message: 'm' });
  assert.equal([failure.complete, failure.stop_reason, failure.usage_verbatim], [true, 'failed', responseUsage]);
  assert.ok(failure.content.length > 0);
  assert.equal(failed(null).error, { type: 'failed', message: '' });
});

test('an unreadable event matters only where the terminal event does not tell the whole', () => {
  const [first, ...rest] = responseEvents(richResponse).map((event) => namedEvents([event]));
  const broken = [first, 'data: {"type": oops}\n\n', ...rest];
  assert.equal(replyTo(broken.join('')), oneShot(richResponse));
  const torn = replyTo(broken.slice(0, -1).join(''));
  assert.equal([torn.error?.type, torn.complete], ['unreadable_event', false]);
});

test('streams of arbitrary events, cut at arbitrary bytes, are read or Unreadable', () => {
  const names = [
    ...new Set(responseEvents(richResponse).map(({ type }) => type)),
    'error',
    'response.failed',
    'response.reasoning_text.delta',
  ];
  const part = <T>(known: fc.Arbitrary<T>) => fc.oneof(known, fc.jsonValue());
  const event = fc.record(
    {
      type: fc.constantFrom(...names),
      output_index: part(fc.nat(3)),
      content_index: part(fc.integer()),
      item_id: part(fc.constantFrom('a', 'b')),
      delta: part(fc.string()),
      part: part(fc.record({ type: fc.constantFrom('output_text', 'reasoning_text'), text: fc.jsonValue() })),
      item: part(
        fc.record({
          type: fc.constantFrom('message', 'reasoning', 'function_call', 'mcp_call', 'web_search_call', 'future'),
          id: fc.constantFrom('a', 'b'),
          content: fc.jsonValue(),
          summary: fc.jsonValue(),
        }),
      ),
      response: part(fc.record({ status: fc.jsonValue(), output: fc.jsonValue(), usage: fc.jsonValue() })),
      error: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), fc.nat(2000), (events, cut) => {
      const bytes = utf8(namedEvents(events));
      readable(() => Reply.parse(openaiResponses.reply(bytes, sse)));
      readable(() => Reply.parse(openaiResponses.reply(bytes.subarray(0, cut), sse)));
    }),
    { numRuns: 1000 },
  );
});

test.run();
