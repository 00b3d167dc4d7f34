/** What does somebody have who installed nothing but the service? Its own three cassettes, in from the first start. */
import * as assert from 'uvu/assert';
import { connectMcp } from '../support/mcp.ts';
import { eventually, read } from '../support/serve.ts';
import { onEmbeddedDatabase } from '../support/whole-service.ts';

type Listed = { cassettes: { name: string; state: string }[]; problems: { reason: string }[] };

onEmbeddedDatabase(
  'cassettes that come with the service',
  (test) => {
    test.before(async ({ service: { api } }) => {
      await fetch(`${api}/v1/admin/seed/demo`, { method: 'POST' });
    });

    test('export, search and skills are in', async ({ service: { api } }) => {
      const list = await eventually('all of them', async () => {
        const listed = await read<Listed>(`${api}/v1/cassettes`);
        return listed.cassettes.length === 3 && listed.cassettes.every(({ state }) => state === 'admitted') && listed;
      });
      assert.equal(
        list.cassettes.map(({ name }) => name),
        ['export', 'search', 'skills'],
      );
      assert.equal(list.problems, []);
      const { paths } = await read<{ paths: Record<string, unknown> }>(`${api}/openapi`);
      for (const path of ['export/sessions', 'search/spans', 'skills/generate'])
        assert.ok(paths[`/v1/cassettes/${path}`], path);
    });

    test('a download has the promised name, and a line for each session', async ({ service: { api } }) => {
      const response = await fetch(`${api}/v1/cassettes/export/sessions`);
      const today = new Date().toISOString().slice(0, 10);
      assert.is(
        response.headers.get('content-disposition'),
        `attachment; filename="sessions-last-30-days-${today}.jsonl"`,
      );
      const lines = (await response.text()).trim().split('\n');
      const { items } = await read<{ items: { id: string }[] }>(`${api}/v1/sessions?limit=200`);
      assert.equal(lines.map((line) => JSON.parse(line).session.id).sort(), items.map(({ id }) => id).sort());
    });

    test('an agent searches its past by meaning, and gets the span', async ({ service: { api } }) => {
      const { client, call, close } = await connectMcp(api);
      try {
        const { tools } = await client.listTools();
        const names = tools.map(({ name }) => name);
        for (const name of ['search_search', 'skills_list', 'skills_get']) assert.ok(names.includes(name), name);
        const args = { query: 'a check that only fails late at night', top_k: 3 };
        const found = await eventually('the spans are embedded', async () => {
          const { structured } = await call('search_search', args);
          return structured?.count === 3 && (structured.results as { trace_id: string; span_id: string }[]);
        });
        for (const { trace_id, span_id } of found)
          assert.is((await fetch(`${api}/v1/traces/${trace_id}/spans/${span_id}`)).status, 200);
      } finally {
        await close();
      }
    });

    test.run();
  },
  { SVC_CASSETTES_BUILT_IN: 'true' },
);
