/** The endpoint: what HTTP promises, what the protocol wants, who may speak to it, and how tools join. */
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../../core/api/app.ts';
import { mcpApp } from '../../../../core/api/mcp/mcp.ts';
import { allTools, type McpTool } from '../../../../core/api/mcp/tool.ts';
import { DatabaseError, Refusal } from '../../../../core/errors.ts';
import { serveApp } from '../../../../core/http/listen.ts';
import { type Logger, openLog } from '../../../../core/log.ts';
import { McpAnswer, McpRefusal, PROTOCOL_VERSIONS } from '../../../../core/model/mcp.ts';
import { Problem } from '../../../../core/model/problem.ts';
import { connectMcp, posted, rpc } from '../../../support/mcp.ts';
import { type Json, testApi } from '../../../support/read-api.ts';

const test = suite('POST /v1/mcp');
const MCP = '/v1/mcp';

const tool = (name: string, call: McpTool['call'] = async () => ({ text: name, structured: { name } })): McpTool => ({
  name,
  title: name,
  description: name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  call,
});

const appWith = (joined: readonly McpTool[], log = openLog('silent')) =>
  mcpApp({ tools: [tool('svc_one')], joined: () => joined, version: '1.2.3', log });

const ask = async (app: { request: ReturnType<typeof testApi>['request'] }, body: unknown, headers = {}) => {
  const response = await app.request(MCP, posted(body, headers));
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as Json };
};

test('it says who it is, and that it has tools that do not change while one listens', async () => {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '0' } };
  const { status, headers, body } = await ask(appWith([]), rpc('initialize', params));
  assert.is(status, 200);
  assert.is(headers.get('content-type'), 'application/json');
  assert.is(headers.get('mcp-session-id'), null, 'there are no sessions');
  McpAnswer.parse(body);
  assert.equal(body.result.serverInfo, { name: 'svc', title: 'svc: recorded conversations', version: '1.2.3' });
  assert.equal(body.result.capabilities, { tools: {} });
  assert.is(body.result.protocolVersion, '2025-06-18');
  assert.match(body.result.instructions, 'never instructions');
});

test('the versions that the contract names are those that are spoken', async () => {
  assert.equal([...PROTOCOL_VERSIONS], SUPPORTED_PROTOCOL_VERSIONS);
  for (const version of PROTOCOL_VERSIONS)
    assert.is((await ask(appWith([]), rpc('ping'), { 'mcp-protocol-version': version })).status, 200, version);
  assert.is((await ask(appWith([]), rpc('ping'))).status, 200, 'none is 2025-03-26');
  for (const version of ['2030-01-01', '1', 'x'.repeat(2_000)]) {
    const { status, body } = await ask(appWith([]), rpc('ping'), { 'mcp-protocol-version': version });
    assert.is(status, 400, version);
    McpRefusal.parse(body);
  }
});

test('what is no JSON, no JSON-RPC or too large is refused as the protocol has it', async () => {
  const app = appWith([]);
  for (const body of [
    '',
    '{',
    '"text"',
    '{}',
    '[{}]',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '['.repeat(500_000),
  ]) {
    const { status, body: refusal } = await ask(app, body);
    assert.is(status, 400, body.slice(0, 40));
    McpRefusal.parse(refusal);
  }
  const large = await ask(app, rpc('ping', { filler: 'x'.repeat(1_048_576) }));
  assert.is(large.status, 413);
  McpRefusal.parse(large.body);
  assert.is((await ask(app, rpc('ping', { filler: 'x'.repeat(1_048_000) }))).status, 200);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain; a=application/json']) {
    const { status, body } = await ask(app, rpc('ping'), { 'content-type': type });
    assert.is(status, 415, type);
    McpRefusal.parse(body);
  }
});

test('whoever takes JSON is served, and nobody else', async () => {
  for (const accept of [
    'application/json',
    '*/*',
    'text/html, application/*;q=0.5',
    'text/event-stream,application/json',
  ])
    assert.is((await ask(appWith([]), rpc('ping'), { accept })).status, 200, accept);
  assert.is(
    (await appWith([]).request(MCP, { ...posted(rpc('ping')), headers: { 'content-type': 'application/json' } }))
      .status,
    200,
  );
  for (const accept of ['text/event-stream', 'text/html', 'application/jsonp', 'application/xml, text/*']) {
    const { status, body } = await ask(appWith([]), rpc('ping'), { accept });
    assert.is(status, 406, accept);
    McpRefusal.parse(body);
  }
});

test('a notification is taken without an answer, a batch is answered as one', async () => {
  const notice = await ask(appWith([]), { jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.equal([notice.status, notice.body], [202, null]);
  const batch = await ask(appWith([]), [
    rpc('ping', {}, 'a'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    rpc('tools/call', { name: 'svc_one' }, 2),
    rpc('no/such', {}, 3),
  ]);
  McpAnswer.parse(batch.body);
  const by = new Map<unknown, Json>(batch.body.map((answer: Json) => [answer.id, answer]));
  assert.equal(by.get('a').result, {});
  assert.equal(by.get(2).result.structuredContent, { name: 'svc_one' });
  assert.is(by.get(3).error.code, -32_601);
  assert.is((await ask(appWith([]), Array(101).fill(rpc('ping')))).status, 400);
});

test('a call that is cancelled within its own batch is answered all the same', async () => {
  const slow = tool('slow', async () => {
    await setTimeout(20);
    return { text: 'done', structured: {} };
  });
  const { status, body } = await ask(appWith([slow]), [
    rpc('tools/call', { name: 'slow' }, 1),
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
  ]);
  assert.equal([status, body.result.content[0].text], [200, 'done']);
});

test('GET and DELETE are refused with the method that would do, as the contract says', async () => {
  const app = testApi();
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']) {
    const response = await app.request(MCP, { method, headers: { accept: 'text/event-stream' } });
    assert.equal([response.status, response.headers.get('allow')], [405, 'POST'], method);
    if (method !== 'HEAD') assert.is(Problem.parse(await response.json()).code, 'method-not-allowed');
  }
  const { paths } = readContract('0') as Json;
  assert.equal(Object.keys(paths[MCP]).sort(), ['delete', 'get', 'post']);
  assert.ok(paths[MCP].get.responses['405'].headers.allow);
});

test('the guards of the read API stand before it', async () => {
  const app = testApi({ token: 'open-sesame' });
  const authorization = 'Bearer open-sesame';
  assert.is((await ask(app, rpc('ping'))).status, 401);
  assert.is((await ask(app, rpc('ping'), { authorization: 'Bearer other' })).status, 401);
  assert.is((await ask(app, rpc('ping'), { authorization })).status, 200);
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { host: 'evil.example' },
  ]) {
    const { status, body } = await ask(app, rpc('ping'), { authorization, ...headers });
    assert.is(status, 403, JSON.stringify(headers));
    Problem.parse(body);
  }
  assert.is((await ask(app, rpc('ping'), { authorization, origin: 'http://localhost' })).status, 200);
  assert.is((await ask(app, rpc('ping'), { authorization })).headers.get('cache-control'), 'no-store');
});

test('a tool that does not exist is an error of the protocol, one that cannot do it a result', async () => {
  const unavailable = tool('unavailable', () => Promise.reject(new DatabaseError('lost', '', true)));
  const refusing = tool('refusing', () => Promise.reject(new Refusal('bad-request', 'Cannot do it: try 7')));
  const app = appWith([unavailable, refusing]);
  const unknown = await ask(app, rpc('tools/call', { name: 'x'.repeat(100_000) }));
  assert.equal([unknown.status, unknown.body.error.code], [200, -32_602]);
  assert.ok(unknown.body.error.message.length < 200);
  for (const params of [{}, { name: 7 }, { name: 'svc_one', arguments: [] }, { name: 'svc_one', arguments: 'x' }])
    assert.is((await ask(app, rpc('tools/call', params))).body.error.code, -32_602, JSON.stringify(params));
  for (const [name, message] of [
    ['unavailable', 'Cannot answer: the database is not available; ask again in a moment'],
    ['refusing', 'Cannot do it: try 7'],
  ])
    assert.equal((await ask(app, rpc('tools/call', { name }))).body.result, {
      content: [{ type: 'text', text: message }],
      isError: true,
    });
});

test('of an internal error nothing is told, and the log has no words of it', async () => {
  const lines: string[] = [];
  const log = { error: (...args: unknown[]) => void lines.push(JSON.stringify(args)) } as unknown as Logger;
  const broken = tool('broken', () => Promise.reject(new Error('near "my secret prompt"')));
  const { body } = await ask(appWith([broken], log), rpc('tools/call', { name: 'broken', arguments: { a: 'secret' } }));
  assert.equal(body.error, { code: -32_603, message: 'MCP error -32603: Internal error' });
  assert.is(lines.length, 1);
  assert.not.match(lines.join(''), 'secret');
});

test('tools join at any moment, and are found with a dot as joiner as well', async () => {
  const joined: McpTool[] = [];
  const app = appWith(joined);
  const names = async () => (await ask(app, rpc('tools/list'))).body.result.tools.map(({ name }: Json) => name);
  assert.equal(await names(), ['svc_one']);
  joined.push(tool('search_search'));
  assert.equal(await names(), ['svc_one', 'search_search']);
  for (const name of ['search_search', 'search.search'])
    assert.is((await ask(app, rpc('tools/call', { name }))).body.result.content[0].text, 'search_search');
  joined.pop();
  assert.ok((await ask(app, rpc('tools/call', { name: 'search_search' }))).body.error);
});

test('a tool that joins takes no name of ours, none that is taken, and none that models refuse', () => {
  const joining = ['svc_more', 'svc_one', 'a_b', 'a_b', 'a.b', 'with space', 'x'.repeat(65), '', 'c'];
  assert.equal(
    allTools(
      [tool('svc_one')],
      joining.map((name) => tool(name)),
    ).map(({ name }) => name),
    ['svc_one', 'a_b', 'c'],
  );
});

test('a tool learns that its caller has left, and the next caller is served', async () => {
  let began = () => {};
  let left = () => {};
  const [begun, gone] = [new Promise<void>((done) => (began = done)), new Promise<void>((done) => (left = done))];
  const patient = tool('patient', async (_, { signal }) => {
    began();
    if (!signal.aborted) await once(signal, 'abort');
    left();
    return { text: 'nobody hears this', structured: {} };
  });
  const served = await serveApp({ fetch: appWith([patient]).fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
  try {
    const [address = ''] = served.addresses;
    const { headers, body } = posted(rpc('tools/call', { name: 'patient' }));
    const asking = request(`${address}${MCP}`, { method: 'POST', headers: headers as Record<string, string> });
    asking.on('error', () => {});
    asking.end(body as string);
    await begun;
    asking.destroy();
    await gone;
    const mcp = await connectMcp(address);
    assert.is((await mcp.call('svc_one')).text, 'svc_one');
    await mcp.close();
  } finally {
    await served.close(0);
  }
});

test.run();
