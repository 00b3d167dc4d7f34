/** Does svc work as it is built, from its start to its stop, on the Node that runs this? CI runs it on a newer one as well. (test/nodes) */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findSystemSupport } from '../../core/cassette/isolation/confinement.ts';
import { parseJson } from '../../core/parse-json.ts';
import { builtProgram } from '../support/built-service.ts';
import { cassetteFolder, removeCassetteFolder } from '../support/cassette-folder.ts';
import type { Json } from '../support/read-api.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'of-the-operator';
/** What a tool is called with: from Node 24 on, V8 reads the second after the first with the key `\`. (nodejs/node#63785) */
const INPUTS = ['{"h":[],"\\\\":0}', '{"h":1,"\\n":2}', '{"h":1,"\\u0041":3}'];

type Stand = { program: string; folder: string; cassette: string; upstream: ScriptedUpstream; service: Service };
const test = suite<Stand>(`the built package on Node ${process.versions.node}`);

/** Its input comes in deltas, as a text of its own, or whole. */
const answer = JSON.stringify({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' },
  ...{ stop_reason: 'tool_use', stop_sequence: null, usage: { input_tokens: 7, output_tokens: 5 } },
  content: INPUTS.map((_, i) => ({ type: 'tool_use', id: `toolu_${i}`, name: 'Note', input: `@${i}` })),
}).replace(/"@(\d)"/g, (_, i) => INPUTS[i] ?? '');

test.before(async (context) => {
  const folder = await emptyFolder();
  const program = await builtProgram(join(folder, 'svc'));
  const cassette = await cassetteFolder({ name: 'notes' });
  const cassettes = [{ name: 'notes', source: cassette, isolation: 'process' }];
  await writeFile(join(folder, 'cassette.manifest.json'), JSON.stringify({ cassettes }));
  const rawHeaders = ['content-type', 'application/json'];
  Object.assign(context, { folder, program, cassette, upstream: await startUpstream([{ rawHeaders, body: answer }]) });
});
test.after(async ({ folder, cassette, upstream }) => {
  await upstream.close();
  await removeCassetteFolder(cassette);
  await removeFolder(folder);
});

test('it starts, and says where it is', async (context) => {
  const { folder, program, upstream } = context;
  const env = {
    SVC_CASSETTES_BUILT_IN: 'true',
    SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url,
    SVC_INTERNAL_LISTEN: '127.0.0.1:0',
    SVC_INTERNAL_TOKEN: TOKEN,
  };
  context.service = await startService(folder, env, [program]);
  assert.match(context.service.banner, 'Point a client at it');
  assert.is((await fetch(`${context.service.api}/ping`)).status, 200);
});

test('a call through the proxy becomes a session, and a tool has the input that was written', async ({ service }) => {
  const response = await fetch(`${service.proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'dummy', 'x-svc-harness-session-id': 'smoke' },
    body: '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"Note it"}]}',
  });
  assert.is(await response.text(), answer);
  const inputs = await eventually('its tools', async () => {
    const { items } = await read<Json>(`${service.api}/v1/sessions`);
    if (!items[0]) return null;
    const answered = await fetch(`${service.api}/v1/sessions/${items[0].id}/traces`);
    const { traces } = parseJson(await answered.text()) as Json; // `answered.json()` misreads it
    const tools = traces.flatMap(({ spans }: Json) => spans.filter(({ kind }: Json) => kind === 'tool')) as Json[];
    return tools.length > 0 && tools.map(({ input }) => input[0].tool_input);
  });
  assert.equal(
    inputs,
    INPUTS.map((text) => parseJson(text)),
  );
});

test('search finds by meaning', async ({ service: { api } }) => {
  assert.is((await fetch(`${api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
  await eventually(
    'three hits',
    async () => {
      const response = await fetch(`${api}/v1/cassettes/search/spans?query=time%20zone%20test&top_k=3`);
      return response.ok && ((await response.json()) as Json).count === 3;
    },
    90_000, // it looks for what is new twice a minute
  );
});

test('a cassette runs behind the highest wall of this system, and answers', async ({ service, folder }) => {
  const { hello } = await eventually('its answer', async () => {
    const response = await fetch(`${service.api}/v1/cassettes/notes/hello`);
    return response.ok && ((await response.json()) as Json);
  });
  assert.is(hello, 'world');
  const headers = { authorization: `Bearer ${TOKEN}` };
  const evidence = await (await fetch(`${service.internal}/internal/readiness/evidence`, { headers })).json();
  const notes = (evidence as Json).cassettes.find(({ name }: Json) => name === 'notes');
  const { wall } = await findSystemSupport(folder);
  assert.equal([notes.isolation, notes.confinement], ['process', wall === 'jail' ? 'full' : 'partial']);
});

test('it stops when it is told to, without a word of what went wrong', async ({ service }) => {
  assert.is(await service.stop(), 0);
  assert.not.match(service.log(), /Warning|Error/);
});

test('the demo records a conversation', async ({ program, folder }) => {
  const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, NO_COLOR: '1' };
  const child = spawn(process.execPath, [program, 'demo'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const exited = once(child, 'exit');
  try {
    await eventually('its last words', async () => out.includes('Ctrl-C') || child.exitCode !== null, 90_000);
    assert.match(out, /Recorded as a session of 3 model calls and 2 tool calls/, err);
  } finally {
    child.kill('SIGINT');
  }
  assert.is((await exited)[0], 0, err);
});

test.run();
