/** Documents of the Responses format for its tests, and their reading. */
import * as assert from 'uvu/assert';
import type { ContentBlock } from '../../core/model/content-block.ts';
import type { Reply } from '../../core/model/reply.ts';
import { Unreadable } from '../../core/provider/format.ts';
import { openaiResponses } from '../../core/provider/openai-responses.ts';
import { namedEvents, utf8 } from './provider-streams.ts';
import type { ResponseDocument, ResponseEvent } from './responses-streams.ts';

export const sse = 'text/event-stream; charset=utf-8';
export const replyTo = (body: string, contentType = sse): Reply => openaiResponses.reply(utf8(body), contentType);
export const replyToEvents = (events: readonly ResponseEvent[]): Reply => replyTo(namedEvents(events));
export const oneShot = (document: unknown): Reply => replyTo(JSON.stringify(document), 'application/json');

export const responseUsage = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 900, cache_write_tokens: 60 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 1050,
};
export const response = (rest: object = {}): ResponseDocument => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'gpt-5.6',
  output: [],
  usage: responseUsage,
  ...rest,
});
/** A message by the model. */
export const outputMessage = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});

/** A response with every kind of output: reasoning, a search by the provider, text, a refusal, and calls. */
export const richResponse = response({
  output: [
    {
      id: 'rs_1',
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'Let me look. €' },
        { type: 'summary_text', text: 'Twice.' },
      ],
      encrypted_content: 'gAAA',
    },
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'Looking it up: "naïve"\n', annotations: [{ type: 'url_citation' }] },
        { type: 'refusal', refusal: 'Not that.' },
      ],
    },
    { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'now', arguments: '' },
    {
      id: 'fc_2',
      type: 'function_call',
      status: 'completed',
      call_id: 'call_2',
      name: 'spawn_agent',
      namespace: 'collaboration',
      arguments: '{"path":"/a","n":[1,2]}',
    },
    {
      id: 'ctc_1',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'call_3',
      name: 'exec',
      input: '*** Begin Patch\n',
    },
  ],
});
/** The block of a call that the client answers. */
export const use = (tool_use_id: string, tool_name: string, tool_input: unknown) => ({
  type: 'tool_use',
  tool_use_id,
  tool_name,
  tool_input,
});
/** Checks that every block of the part is in the whole, with texts that are beginnings of those there. */
export function saysNoMore(part: readonly ContentBlock[], whole: readonly ContentBlock[], note: string) {
  const begins = (less = '', more = '') => assert.ok(more.startsWith(less), note);
  let at = 0;
  for (const block of part) {
    while (at < whole.length && whole[at]?.type !== block.type) at++; // a call under way has no result yet
    const known = whole[at++];
    assert.ok(known, note);
    begins(block.text, known?.text);
    begins(block.thinking, known?.thinking);
    begins(block.thinking_signature, known?.thinking_signature);
  }
}

/** Checks that input of another shape is refused at most, and nothing else happens. */
export const readable = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    assert.instance(error, Unreadable);
  }
};

export const isUnreadable = (error: unknown): boolean => error instanceof Unreadable;
