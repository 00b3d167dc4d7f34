/** The real service, asked by the official inspector and by the SDK's client: an agent finds what it did before. */
import { execFile } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { connectMcp } from '../support/mcp.ts';
import type { Json } from '../support/read-api.ts';
import { eventually } from '../support/serve.ts';
import { onEachDatabase } from '../support/whole-service.ts';

const INSPECTOR = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/inspector-cli/build/cli.js');

/** What the inspector prints; it fails with what it says otherwise. */
async function inspect(api: string, folder: string, ...args: string[]): Promise<Json> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [INSPECTOR, '--cli', `${api}/v1/mcp`, '--transport', 'http', ...args],
    // it looks for its own package.json from the working directory
    { cwd: dirname(INSPECTOR), env: { PATH: process.env.PATH, HOME: folder }, timeout: 60_000 },
  );
  return JSON.parse(stdout);
}

onEachDatabase('MCP', (test) => {
  test('the inspector lists the tools and finds its way from a session to a step', async ({ service, folder }) => {
    const seeded = await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
    assert.is(seeded.status, 200);
    const { tools } = await inspect(service.api, folder, '--method', 'tools/list');
    assert.equal(
      tools.map(({ name }: Json) => name),
      ['svc_sessions', 'svc_session', 'svc_trace', 'svc_context', 'svc_find', 'svc_stats', 'svc_cache', 'svc_spend'],
    );
    const call = async (name: string, ...args: string[]) => {
      const given = args.flatMap((arg) => ['--tool-arg', arg]);
      const result = await inspect(service.api, folder, '--method', 'tools/call', '--tool-name', name, ...given);
      assert.not.ok(result.isError, `${name} ${JSON.stringify(result)}`);
      return result.structuredContent;
    };
    const [session] = (await call('svc_sessions', 'text=departs today', 'limit=1')).sessions;
    const { turns } = await call('svc_session', `session_id=${session.id}`);
    const { steps } = await call('svc_trace', `trace_id=${turns[0].trace_id}`);
    assert.match(steps.at(-1).output, 'Found and fixed.');
    assert.is((await call('svc_stats')).session_count, 12);
  });

  test("the SDK's client, in its newest version, finds it as well", async ({ service }) => {
    const mcp = await connectMcp(service.api);
    assert.is(mcp.version, '2025-11-25');
    const { structured } = await mcp.call('svc_sessions', { text: 'departs', limit: 1 });
    assert.match(structured.sessions[0].title, 'departs today');
    // the index fills one text after another: until this one is in it, others are the nearest
    await eventually('the text is in the index', async () => {
      const { hits } = (await mcp.call('svc_find', { text: 'run 8841', in: ['tools'] })).structured;
      return hits[0]?.snippets[0].includes('run 8841');
    });
    await mcp.close();
  });

  test('a web page is refused, whatever it would ask', async ({ service }) => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await fetch(`${service.api}/v1/mcp`, {
        method,
        headers: { origin: 'http://evil.example', 'content-type': 'application/json' },
        ...(method === 'POST' ? { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' } : {}),
      });
      assert.is(response.status, 403, method);
      assert.is(response.headers.get('access-control-allow-origin'), null);
    }
  });
  test.run();
});
