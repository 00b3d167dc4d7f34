/** Transcript records as harnesses write them, for tests that need a conversation of their own. */
import type { TranscriptFile } from '../../core/model/transcript.ts';

export const SESSION_ID = '5d0f8f2e-1f4a-4a35-9d3e-0f6a0c1b2d3e';

const instant = (second: number): string => new Date(Date.UTC(2026, 6, 27, 9, 0, 0) + second * 1000).toISOString();

export const transcriptFile = (records: unknown[], rest: Partial<TranscriptFile> = {}): TranscriptFile => ({
  harness_id: 'claude',
  harness_session_id: SESSION_ID,
  main: true,
  agent_id: '',
  agent_type: '',
  description: '',
  tool_use_id: '',
  lifecycle_kind: '',
  raw_turn_id: 1,
  received_at: '2026-11-21T12:00:00.000000Z',
  records,
  ...rest,
});

type Rest = Record<string, unknown>;

/** A record of Claude Code with a `uuid` and its `parent`; `second` is its time. */
const claudeRecord = (type: string, [parent, uuid]: Edge, second: number, rest: Rest) => ({
  ...{ type, uuid, parentUuid: parent || null, isSidechain: false, sessionId: SESSION_ID, version: '2.1.197' },
  ...{ cwd: '/home/dev/atlas', timestamp: instant(second) },
  ...rest,
});
export type Edge = [parent: string, uuid: string];

export const userRecord = (edge: Edge, second: number, content: unknown, rest: Rest = {}) =>
  claudeRecord('user', edge, second, { message: { role: 'user', content }, ...rest });

/** A piece of the answer `id`. */
export const answeredBy = (edge: Edge, second: number, id: string, content: unknown[], message: Rest = {}) =>
  claudeRecord('assistant', edge, second, {
    requestId: `req_${id}`,
    message: {
      ...{ id, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content, stop_reason: null },
      ...{
        usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
      },
      ...message,
    },
  });

export const textBlock = (text: string) => ({ type: 'text', text });
export const uses = (id: string, name = 'Bash', input: Rest = { command: 'ls' }) => ({
  type: 'tool_use',
  id,
  name,
  input,
});
export const resulted = (id: string, content: unknown = 'done') => ({ type: 'tool_result', tool_use_id: id, content });

/** A chat of so many questions, each answered: `u1 a1 u2 a2 …`. */
export const claudeChat = (questions: number): object[] =>
  Array.from({ length: questions }, (_, i) => [
    userRecord([i === 0 ? '' : `a${i}`, `u${i + 1}`], i * 10, `Question ${i + 1}`),
    answeredBy([`u${i + 1}`, `a${i + 1}`], i * 10 + 2, `msg_${i + 1}`, [textBlock(`Answer ${i + 1}`)], {
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  ]).flat();

/** A line of a Codex rollout. */
export const line = (type: string, second: number, payload: Rest) => ({ timestamp: instant(second), type, payload });
export const item = (second: number, payload: Rest) => line('response_item', second, payload);
export const event = (second: number, type: string, rest: Rest = {}) => line('event_msg', second, { type, ...rest });
export const userItem = (second: number, text: string) =>
  item(second, { type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
export const answerItem = (second: number, text: string, id = `msg_${second}`) =>
  item(second, { type: 'message', role: 'assistant', id, content: [{ type: 'output_text', text }] });
export const tokens = (input: number, output: number, total: number) => ({
  type: 'token_count',
  info: {
    last_token_usage: {
      input_tokens: input,
      cached_input_tokens: 4,
      output_tokens: output,
      reasoning_output_tokens: 1,
    },
    total_token_usage: { input_tokens: total, output_tokens: output, total_tokens: total },
  },
});
