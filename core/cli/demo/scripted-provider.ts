/** The provider of the demo, on this machine, with a script for one conversation: list the files, read one, answer. */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { chatMessage, chatUsage, chatWire, finishReason } from '../../demo/chat-wire.ts';
import { answers, calls, type DemoCall, type ScriptedAnswer, use } from '../../demo/script.ts';
import { outputOf, tokensIn } from '../../demo/tokens.ts';

const ChatRequest = z.object({
  model: z.string(),
  stream: z.boolean().default(false),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })).min(1),
  tools: z.array(z.unknown()).default([]),
});
type ChatRequest = z.infer<typeof ChatRequest>;

const PACE_MS = 15; // between the events of a stream, so that the streaming is visible
const SLUG = 'ferry';

/** A fetch handler that speaks OpenAI's Chat Completions, streamed or not. Everything else is refused in OpenAI's own shape. */
export async function scriptedProvider(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method !== 'POST' || !pathname.endsWith('/chat/completions'))
    return refused(404, 'Cannot answer: the scripted provider knows POST /v1/chat/completions alone');
  const { success, data } = ChatRequest.safeParse(await request.json().catch(() => null));
  if (!success) return refused(400, 'Cannot read the request: it is no chat request');

  const answer = { ...nextAnswer(data), n: data.messages.filter(({ role }) => role === 'assistant').length + 1 };
  const call: DemoCall = {
    slug: SLUG,
    model: data.model,
    n: answer.n,
    at: new Date(),
    spent: { input: tokensIn(JSON.stringify(data.messages)), cached: 0, ...outputOf(answer) },
  };
  if (data.stream) return streamed(chatWire.answer(answer, call).split(/(?<=\n\n)/));
  return Response.json({
    id: `chatcmpl-demo-${SLUG}-${call.n}`,
    object: 'chat.completion',
    created: Math.floor(call.at.getTime() / 1000),
    model: call.model,
    choices: [{ index: 0, message: chatMessage(SLUG, answer), finish_reason: finishReason(answer) }],
    usage: chatUsage(call.spent),
  });
}

/** The script: the results of tools since the question decide the next answer. */
function nextAnswer({ messages, tools }: ChatRequest): ScriptedAnswer {
  const questionIndex = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(questionIndex + 1).filter(({ role }) => role === 'tool');
  const [files, table] = results.map(({ content }) => String(content));
  if (tools.length === 0)
    return answers('I am the scripted provider of the demo, and know one conversation by heart. It needs two tools.');
  if (files === undefined) return calls("I'll see which files there are.", use('list_files', {}, ''));
  const path = files.split('\n').find((name) => name.endsWith('.csv')) ?? 'timetable.csv';
  if (table === undefined) return calls(`The crossings stand in ${path}.`, use('read_file', { path }, ''));
  return answers(lastCrossing(table));
}

/** The answer, from rows of `departs,from,to,bicycles`. */
function lastCrossing(table: string): string {
  const rows = table
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => row.split(','));
  const last = rows.findLast(([, , , bicycles]) => Number(bicycles) >= 2);
  if (!last) return 'None of the crossings has room for two bicycles.';
  const [departs, from, to, bicycles] = last;
  const after = rows.slice(rows.indexOf(last) + 1).map(([time]) => time);
  const none = after.length > 0 ? ` Later ones (${after.join(', ')}) have no room for both.` : '';
  return `The ${departs} from ${from} to ${to}: it has room for ${bicycles} bicycles.${none}`;
}

function streamed(events: readonly string[]): Response {
  const encoder = new TextEncoder();
  const left = [...events];
  const body = new ReadableStream({
    async pull(controller) {
      await setTimeout(PACE_MS);
      controller.enqueue(encoder.encode(left.shift()));
      if (left.length === 0) controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': chatWire.contentType } });
}

const refused = (status: number, message: string): Response =>
  Response.json({ error: { message, type: 'invalid_request_error', param: null, code: null } }, { status });
