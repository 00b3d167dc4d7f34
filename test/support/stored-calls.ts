/** Stores made-up calls in a database as intake does: through the bytes that a client and a provider would have sent. */

import type { JournalCall } from '../../core/capture/journal-format.ts';
import type { Database } from '../../core/db/database.ts';
import type { ContentBlock } from '../../core/model/content-block.ts';
import type { HeaderList } from '../../core/model/headers.ts';
import { type Call, instantAt } from './call-turn.ts';
import { takeIn } from './captured-calls.ts';

/** Stores calls in the order given, all in one batch. @returns their sessions */
export async function storeCalls(database: Database, calls: readonly JournalCall[]): Promise<string[]> {
  const stored = await takeIn(database, calls);
  return [...new Set(stored.map(({ session_id }) => session_id))];
}

/** An Anthropic call as the journal holds it. `session`: the harness's own name of it. */
export function journalCall(session: string, call: Call): JournalCall {
  const {
    at,
    says = [],
    answers,
    model = 'claude-sonnet-4-5',
    thread_id = '',
    status = 200,
    ending = 'complete',
  } = call;
  const body = {
    model,
    max_tokens: 1024,
    messages: says.map(({ role, content }) => ({ role, content: content.map(sent) })),
  };
  const request = Buffer.from(JSON.stringify(body));
  const response = status === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(answered(call, status)));
  return {
    opened: {
      svc_proxy_request_id: call.call_id ?? `call-${at}`,
      requested_at: instantAt(at),
      provider: 'anthropic',
      format: 'anthropic.messages',
      method: 'POST',
      url: '/v1/messages',
      headers: headersOf(session, thread_id, call),
      client_key: 'ab',
      project: '',
      keep: 'full',
    },
    request,
    responseHead:
      status === null
        ? null
        : { status, headers: [['content-type', 'application/json']], first_byte_at: instantAt(at + 0.2) },
    response,
    closed: {
      ending,
      last_byte_at: instantAt(at + (answers ? 0.5 : 0.3)),
      request_bytes: request.byteLength,
      response_bytes: response.byteLength,
      cut: 'none',
      over_limit: false,
    },
  };
}

const headersOf = (session: string, thread_id: string, { identity, retry_count }: Call): HeaderList => [
  ['content-type', 'application/json'],
  ['x-svc-harness-id', 'test'],
  ['x-svc-harness-session-id', session],
  ...(thread_id === '' ? [] : [['x-claude-code-agent-id', thread_id] as [string, string]]),
  ...(identity?.session_name ? [['x-svc-session-name', identity.session_name] as [string, string]] : []),
  ...(retry_count ? [['x-stainless-retry-count', String(retry_count)] as [string, string]] : []),
];

function answered({ answers, model }: Call, status: number): unknown {
  const overloaded = { type: 'overloaded_error', message: 'Overloaded' };
  if (!answers || status >= 400) return { type: 'error', error: answers?.error ?? overloaded };
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: answers.model ?? model ?? 'claude-sonnet-4-5',
    content: answers.content.map(sent),
    stop_reason: answers.stop_reason ?? 'end_turn',
    usage: { input_tokens: 100, output_tokens: 10 },
  };
}

function sent(block: ContentBlock): unknown {
  switch (block.type) {
    case 'tool_use':
      return { type: 'tool_use', id: block.tool_use_id, name: block.tool_name, input: block.tool_input };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.tool_result_id,
        content: block.tool_output,
        is_error: block.is_error,
      };
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: 'signed' };
    default:
      return { type: 'text', text: block.text };
  }
}
