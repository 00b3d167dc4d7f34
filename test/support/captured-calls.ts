/** Calls as the journal gives them back, for tests of what processes them: made up, or recorded. */
import { createHash } from 'node:crypto';
import { completeTurn, type Prepared } from '../../core/call/complete-turn.ts';
import { type CallMemory, callMemory } from '../../core/call/memory.ts';
import type { JournalCall } from '../../core/capture/journal-format.ts';
import { packedSlice } from '../../core/capture/slice-codec.ts';
import type { Database } from '../../core/db/database.ts';
import type { AppendedTurn, TurnBatch } from '../../core/db/store/append-turns.ts';
import { findPreviousCall } from '../../core/engine/intake/find-previous-call.ts';
import { openCall } from '../../core/engine/intake/open-call.ts';
import type { HeaderList } from '../../core/model/headers.ts';
import type { FormatId } from '../../core/provider/formats.ts';
import { formatById } from '../../core/provider/formats.ts';
import { ProviderId } from '../../core/provider/provider-ids.ts';
import { recordedCalls } from './replay-recordings.ts';

/** `n` gives the request its id and its time: a second apart. */
export type CallLike = {
  n: number;
  request?: unknown; // JSON, or bytes as they are
  response?: string | Uint8Array | null; // null: no answer came
  headers?: HeaderList;
  responseHeaders?: HeaderList;
  status?: number;
  client?: string;
  format?: FormatId;
  keep?: 'full' | 'metadata';
  closed?: Partial<NonNullable<JournalCall['closed']>> | null; // null: the run ended first
};

export const requestId = (n: number): string => `0198c0de-0000-7000-8000-${String(n).padStart(12, '0')}`;
const instant = (n: number, ms: number) =>
  new Date(Date.UTC(2026, 10, 21, 9) + n * 1000 + ms).toISOString().replace('Z', '000Z');

const paths: Record<FormatId, string> = {
  'anthropic.messages': '/v1/messages',
  'gemini.generate': '/v1beta/models/gemini-2.5-flash:generateContent',
  'openai.chat': '/v1/chat/completions',
  'openai.responses': '/v1/responses',
  'ollama.chat': '/api/chat',
  'ollama.generate': '/api/generate',
};

export function capturedCall(like: CallLike): JournalCall {
  const {
    n,
    headers = [],
    responseHeaders = [],
    status = 200,
    client = 'one',
    format = 'openai.chat',
    keep = 'full',
  } = like;
  const requestBody =
    like.request instanceof Uint8Array ? like.request : Buffer.from(JSON.stringify(like.request ?? {}));
  const request = keep === 'full' ? requestBody : new Uint8Array();
  const replied = like.response === undefined ? chatAnswer('ok') : like.response;
  const response = keep === 'full' && replied !== null ? Buffer.from(replied) : new Uint8Array();
  return {
    opened: {
      svc_proxy_request_id: requestId(n),
      requested_at: instant(n, 0),
      provider: ProviderId.parse(formatById(format).provider),
      format,
      method: 'POST',
      url: paths[format],
      headers: [['content-type', 'application/json'], ['content-length', String(requestBody.byteLength)], ...headers],
      client_key: createHash('sha256').update(client).digest('hex'),
      project: 'atlas',
      keep,
    },
    request,
    responseHead:
      replied === null
        ? null
        : {
            status,
            headers: [['content-type', 'application/json'], ...responseHeaders],
            first_byte_at: instant(n, 200),
          },
    response,
    closed:
      like.closed === null
        ? null
        : {
            ending: 'complete',
            last_byte_at: instant(n, 500),
            request_bytes: requestBody.byteLength,
            response_bytes: response.byteLength,
            cut: 'none',
            over_limit: false,
            ...like.closed,
          },
  };
}

/** An answer in one piece. */
export const chatAnswer = (content: string, finish_reason = 'stop'): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-4o-mini-2024',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  });

/** A chat's request: user and assistant in turns, beginning with the user. */
export const chat = (...words: string[]) => ({
  model: 'gpt-4o-mini',
  messages: words.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })),
});

/** Stores calls as intake does, without a journal. */
export async function takeIn(
  database: Database,
  calls: readonly JournalCall[],
  memory: CallMemory = callMemory(),
  report_nodes = false,
): Promise<AppendedTurn[]> {
  const made: Prepared[] = [];
  for (const call of calls) {
    const opened = openCall(call, memory, new Uint8Array(32));
    const named = { ...opened.continuation, ...opened.exchange, identity: opened.identity };
    const earlier = made.flatMap((one) => (one.kind === 'turn' ? one.turn : []));
    made.push(completeTurn(opened, await findPreviousCall(database.execute, named, earlier), memory));
  }
  const slices = new Map(
    made.flatMap((one) => (one.kind === 'turn' ? one.slices : [])).map((slice) => [slice.slice_id, slice.bytes]),
  );
  const batch: TurnBatch = {
    turns: made.flatMap((one) => (one.kind === 'turn' ? one.turn : [])),
    slices: [...slices].map(([slice_id, bytes]) => packedSlice(slice_id, bytes)),
    counted: made.flatMap((one) => (one.kind === 'counted' ? { ...one.counted, position: null } : [])),
    positions: [],
    report_nodes,
  };
  return database.execute('appendTurns', batch);
}

/** The recorded session; null, with a printed skip, where the fixtures are absent. */
export async function recordedJournalCalls(): Promise<JournalCall[] | null> {
  const recorded = await recordedCalls();
  if (!recorded) {
    console.log('skip: recordings: the fixtures are absent; SVC_FIXTURES says where they are');
    return null;
  }
  return recorded.map(({ path, headers, body, status, responseHeaders, response }, n) => {
    const call = capturedCall({
      n,
      request: body,
      response,
      responseHeaders,
      headers,
      status,
      format: 'anthropic.messages',
    });
    return { ...call, opened: { ...call.opened, url: path, headers } };
  });
}
