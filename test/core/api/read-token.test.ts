/** The token that reads: every read is answered as with the other one, and nothing that changes anything. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mcpApp } from '../../../core/api/mcp/mcp.ts';
import type { McpTool } from '../../../core/api/mcp/tool.ts';
import { onError } from '../../../core/http/failure.ts';
import { type HttpEnv, routes } from '../../../core/http/routes.ts';
import { bearer } from '../../../core/http/token.ts';
import { openLog } from '../../../core/log.ts';
import { Problem } from '../../../core/model/problem.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('the token that reads');
const ID = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const [FULL, READ] = ['full-token-1', 'read-token-1'];
const bearing = (token: string) => ({ authorization: `Bearer ${token}` });

test('reads pass it, writes and backups are 403, without either 401', async () => {
  const app = testApi({ token: FULL, readToken: READ });
  const all = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, path: path.replaceAll(/:[a-z_]+(?:\{[^}]*\})?/g, ID) }));
  const refused = new Set<string>();
  for (const { method, path } of all) {
    const response = await app.request(path, { method, headers: bearing(READ) });
    if (response.status === 403) {
      assert.is(Problem.parse(await response.json()).code, 'read-only');
      refused.add(`${method} ${path}`);
    }
    assert.not.equal(response.status, 401, `${method} ${path}`);
  }
  const writes = all.filter(({ method, path }) => !['GET', 'HEAD'].includes(method) && path !== '/v1/mcp');
  assert.ok(writes.length > 5);
  assert.equal(
    [...refused].sort(),
    [...new Set([...writes.map(({ method, path }) => `${method} ${path}`), 'GET /v1/admin/backup'])].sort(),
  );
  assert.is((await app.request('/v1/sessions', { headers: bearing('other') })).status, 401);
  assert.is((await app.request('/v1/admin/backup', { method: 'HEAD', headers: bearing(READ) })).status, 403);
  assert.is((await app.request('//v1/admin/backup', { headers: bearing(READ) })).status === 200, false);
});

test('without one there is none: an empty bearer is no token', async () => {
  const app = testApi({ token: FULL });
  for (const authorization of ['Bearer ', 'Bearer', '', 'Bearer x'])
    assert.is((await app.request('/v1/sessions', { headers: { authorization } })).status, 401);
});

test('of tools it has those that read', async () => {
  const tool = (name: string, readOnlyHint?: boolean): McpTool => ({
    ...{ name, title: name, description: name, inputSchema: { type: 'object' } },
    annotations: readOnlyHint === undefined ? {} : { readOnlyHint },
    call: async () => ({ text: name, structured: {} }),
  });
  const app = routes<HttpEnv>();
  app.use(bearer({ full: FULL, read: READ }, { isOpen: () => false, isRead: () => true }));
  const joined = () => [tool('reads', true), tool('writes', false), tool('unsaid')];
  app.route('/', mcpApp({ tools: [tool('svc_own', true)], joined, version: '0', log: openLog('silent') }));
  app.onError(onError(openLog('silent')));
  const call = async (token: string, method: string, params: object): Promise<Json> => {
    const response = await app.request('/v1/mcp', {
      method: 'POST',
      headers: { ...bearing(token), 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return response.json();
  };
  const names = async (token: string) =>
    (await call(token, 'tools/list', {})).result.tools.map(({ name }: Json) => name).sort();
  assert.equal(await names(FULL), ['reads', 'svc_own', 'unsaid', 'writes']);
  assert.equal(await names(READ), ['reads', 'svc_own']);
  assert.not.ok(
    JSON.stringify(await call(READ, 'tools/call', { name: 'writes', arguments: {} })).includes('"text":"writes"'),
  );
  assert.match(JSON.stringify(await call(FULL, 'tools/call', { name: 'writes', arguments: {} })), '"text":"writes"');
});

test.run();
