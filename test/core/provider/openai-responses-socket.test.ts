import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';
import { type ResponseDocument, responseEvents } from '../../support/responses-streams.ts';

const test = suite('openaiResponses: events that came over a socket');

const document: ResponseDocument = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-5',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'It is 7 degrees', annotations: [] }],
    },
  ],
  usage: { input_tokens: 12, output_tokens: 5 },
};
const events = responseEvents(document);
const lines = (list: readonly object[]) => list.map((event) => `${JSON.stringify(event)}\n`).join('');
const read = (body: string) => openaiResponses.reply(Buffer.from(body), 'application/x-ndjson');

test('the lines say what the same events say as a stream, and as a document', () => {
  const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const reply = read(lines(events));
  assert.equal(reply, openaiResponses.reply(Buffer.from(stream), 'text/event-stream'));
  assert.equal(reply, openaiResponses.reply(Buffer.from(JSON.stringify(document)), 'application/json'));
  assert.ok(reply.complete);
});

test('what was cut gives what came', () => {
  const whole = lines(events);
  const cut = read(whole.slice(0, whole.indexOf('response.output_item.done') - 12));
  assert.not(cut.complete);
  assert.equal(cut.content, [{ type: 'text', text: 'It is 7 degrees' }]);
  assert.is(cut.error, null);
});

test('events of the connection say nothing of the response', () => {
  const limits = { type: 'codex.rate_limits', plan_type: 'pro', rate_limits: { allowed: true } };
  assert.equal(read(lines([limits, ...events])), read(lines(events)));
});

test('a refusal is an error', () => {
  const error = { type: 'invalid_request_error', code: 'previous_response_not_found', message: 'not found' };
  const reply = read(lines([{ type: 'error', status: 400, error }]));
  assert.equal(reply.error, { type: 'previous_response_not_found', message: 'not found' });
  assert.equal(reply.content, []);
});

test.run();
