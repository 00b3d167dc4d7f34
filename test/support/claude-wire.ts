/** Made-up calls of Claude Code over the wire, in the session of the transcripts that tests make up. */
import type { JournalCall } from '../../core/capture/journal-format.ts';
import { capturedCall } from './captured-calls.ts';
import { SESSION_ID } from './transcript-records.ts';

type WireWords = { system?: string; words: string[]; answer: string; message_id?: string; request_id?: string };

/** A call of Claude Code's over the wire in the session of the files, so many seconds after its first record. */
export function wireCall(
  second: number,
  { system = '', words, answer, message_id = `msg_w${second}`, request_id = `req_w${second}` }: WireWords,
): JournalCall {
  const messages = words.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }));
  const response = JSON.stringify({
    ...{
      id: message_id,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      stop_reason: 'end_turn',
    },
    content: [{ type: 'text', text: answer }],
    usage: { input_tokens: 7, output_tokens: 3 },
  });
  const call = capturedCall({
    n: second,
    request: { model: 'claude-sonnet-4-5', max_tokens: 1024, system, messages },
    response,
    headers: [
      ['user-agent', 'claude-cli/2.1.197 (external, cli)'],
      ['x-claude-code-session-id', SESSION_ID],
    ],
    format: 'anthropic.messages',
  });
  const at = (ms: number) => new Date(Date.UTC(2026, 6, 27, 9) + second * 1000 + ms).toISOString().replace('Z', '000Z');
  return {
    ...call,
    opened: { ...call.opened, project: '', requested_at: at(0) },
    responseHead: call.responseHead && {
      ...call.responseHead,
      first_byte_at: at(100),
      headers: [...call.responseHead.headers, ['request-id', request_id]],
    },
    closed: call.closed && { ...call.closed, last_byte_at: at(200) },
  };
}

export const titleCall = (second: number) =>
  wireCall(second, {
    system: 'Write a title. Return JSON with a single field: {"title": "…"}',
    words: ['Question 1'],
    answer: '{"title": "Asked over the wire"}',
  });
/** A call that repeats the first question and its answer. */
export const compactionCall = (second: number) =>
  wireCall(second, {
    words: ['Question 1', 'Answer 1', 'Your task is to create a detailed summary of the conversation so far'],
    answer: '<summary>All of it</summary>',
  });
