/** Does a cassette's tool do what its operation does, and is an agent told in a sentence when it does not? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cassetteTools } from '../../../../core/api/mcp/cassette-tools.ts';
import { mcpApp } from '../../../../core/api/mcp/mcp.ts';
import type { AdmissionState, Installed } from '../../../../core/cassette/installed.ts';
import { ListEntry } from '../../../../core/cassette/list/list.ts';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { Refusal } from '../../../../core/errors.ts';
import { serveApp } from '../../../../core/http/listen.ts';
import { openLog } from '../../../../core/log.ts';
import { documentWith } from '../../../support/cassette-document.ts';
import { connectMcp } from '../../../support/mcp.ts';

const test = suite('tools of cassettes');

const installed = async (
  name: string,
  state: AdmissionState = 'admitted',
  withDocument = true,
): Promise<Installed> => ({
  entry: ListEntry.parse({ name, source: `./${name}` }),
  isolation: 'process',
  state,
  since: '2026-07-27T10:00:00Z',
  admitted_at: null,
  trouble: null,
  confinement: null,
  liveness: null,
  source_digest: null,
  document: withDocument ? await readDocument(documentWith(), { name, isolation: 'process' }) : null,
  last_run: null,
  progress: null,
});

type Answer = (request: Request) => Response | Promise<Response>;
const NEVER = new AbortController().signal;

const call = async (answer: Answer, args: Record<string, unknown> = {}, lateMs?: number, signal = NEVER) => {
  const [tool] = cassetteTools([await installed('notes')], async (_, request) => answer(request), lateMs);
  assert.ok(tool);
  return tool.call(args, { signal });
};
const refusedBy = async (answer: Answer, lateMs?: number, signal?: AbortSignal): Promise<string> => {
  try {
    await call(answer, {}, lateMs, signal);
  } catch (error) {
    assert.instance(error, Refusal);
    return (error as Refusal).message;
  }
  return assert.unreachable() as never;
};

test('those that are in add theirs under the installed name, by names; the others add none', async () => {
  const tools = cassetteTools(
    [
      await installed('notes'),
      await installed('my-notes', 'stale'),
      await installed('out', 'rejected'),
      await installed('new', 'pending', false),
    ],
    () => Promise.reject(new Error('nobody asks')),
  );
  assert.equal(
    tools.map(({ name }) => name),
    ['my-notes_find', 'notes_find'],
  );
  const { title, annotations, inputSchema } = tools[1] ?? {};
  assert.equal([title, annotations, inputSchema?.required], ['Finds notes', { readOnlyHint: true }, ['words']]);
});

test('a call asks its own operation with the arguments as they are', async () => {
  const received: unknown[] = [];
  const [tool] = cassetteTools([await installed('my-notes')], async (name, request) => {
    const { pathname } = new URL(request.url);
    received.push(name, request.method, pathname, request.headers.get('content-type'), await request.json());
    return new Response('{ "notes": [] }', { status: 201 });
  });
  const result = await tool?.call({ words: ['a', 'ü'], more: null }, { signal: NEVER });
  assert.equal(received, [
    ...['my-notes', 'POST', '/api/notes/find', 'application/json'],
    { words: ['a', 'ü'], more: null },
  ]);
  assert.equal(result, { text: '{ "notes": [] }', structured: { notes: [] } });
});

test('an answer that it went wrong is told with its status and what was said', async () => {
  assert.is(
    await refusedBy(() => new Response('{"error":"no words"}\n', { status: 422 })),
    'Cannot call notes_find: notes answered 422: {"error":"no words"}',
  );
  assert.is(await refusedBy(() => new Response(null, { status: 500 })), 'Cannot call notes_find: notes answered 500');
  assert.is(await refusedBy(() => new Response(null, { status: 304 })), 'Cannot call notes_find: notes answered 304');
});

test('of a long error 4 KiB are told, in whole characters', async () => {
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled++;
      controller.enqueue(new TextEncoder().encode(pulled === 1 ? 'x' : 'ü'.repeat(500)));
    },
  });
  const message = await refusedBy(() => new Response(endless, { status: 400 }));
  assert.is(message, `Cannot call notes_find: notes answered 400: x${'ü'.repeat(2047)}`);
  assert.ok(pulled < 10, 'the rest is not read');
});

test('an answer that is no JSON object is told as that', async () => {
  for (const [text, what] of [
    ['<html>', 'what is no JSON'],
    ['', 'what is no JSON'],
    ['[]', 'JSON that is no object'],
    ['null', 'JSON that is no object'],
    ['{} {}', 'what is no JSON'],
  ])
    assert.is(await refusedBy(() => new Response(text)), `Cannot call notes_find: notes answered with ${what}`);
});

test('an answer of more than 8 MiB is told as that', async () => {
  const whole = (bytes: number) => new Response(`{"a":"${'x'.repeat(bytes - 8)}"}`);
  assert.is((await call(() => whole(8 * 1024 * 1024))).text.length, 8 * 1024 * 1024);
  assert.is(
    await refusedBy(() => whole(8 * 1024 * 1024 + 1)),
    'Cannot call notes_find: notes answered with more than 8 MiB',
  );
});

test('one that is away, breaks or does not come to an end is told as that', async () => {
  const away = new Refusal('cassette-unavailable', 'Cannot answer: the cassette "notes" is stale');
  assert.is(await refusedBy(() => Promise.reject(away)), 'Cannot call notes_find: the cassette "notes" is stale');
  const torn = new ReadableStream({ start: (controller) => controller.error(new Error('secret')) });
  assert.is(await refusedBy(() => new Response(torn)), 'Cannot call notes_find: the answer of notes broke off');
  const alive = setInterval(() => {}, 1000); // the limit alone keeps no process up
  for (const answer of [() => new Promise<never>(() => {}), () => new Response(new ReadableStream({}))])
    assert.is(await refusedBy(answer, 50), 'Cannot call notes_find: notes did not answer within 0.05 s');
  clearInterval(alive);
});

test('a caller that leaves takes the request with it', async () => {
  const leaving = new AbortController();
  let left = false;
  const message = await refusedBy(
    (request) => {
      request.signal.addEventListener('abort', () => {
        left = true;
      });
      leaving.abort();
      return new Promise<never>(() => {});
    },
    undefined,
    leaving.signal,
  );
  assert.equal([message, left], ['Cannot call notes_find: the caller left', true]);
});

test('an MCP client lists and calls them, with a dot as joiner too', async () => {
  const notes = await installed('notes');
  const joined = () =>
    cassetteTools([notes], async (_, request) => {
      const { words } = (await request.json()) as { words: string[] };
      return Response.json({ notes: words.map((text) => ({ kind: 'text', text })) });
    });
  const app = mcpApp({ tools: [], joined, version: '0', log: openLog('silent') });
  const served = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
  const { client, call: callTool, close } = await connectMcp(served.addresses[0] ?? '');
  try {
    const { tools } = await client.listTools(); // the client compiles the schemas of answers, and checks each answer
    assert.equal(
      tools.map(({ name }) => name),
      ['notes_find'],
    );
    for (const name of ['notes_find', 'notes.find']) {
      const { structured, isError } = await callTool(name, { words: ['a'] });
      assert.equal([structured, isError], [{ notes: [{ kind: 'text', text: 'a' }] }, false]);
    }
  } finally {
    await close();
    await served.close(0);
  }
});

test.run();
