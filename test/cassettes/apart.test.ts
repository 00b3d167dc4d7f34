/** Do search and skills keep out of the service's way? In the process that they share, over a real database. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as assert from 'uvu/assert';
import search from '../../cassettes/search/cassette.ts';
import skills from '../../cassettes/skills/cassette.ts';
import { standCassette } from '../support/cassette-stand.ts';
import { databaseSuite } from '../support/databases.ts';
import { demoApi } from '../support/demo-api.ts';
import { startEmbedder } from '../support/embedding-server.ts';
import { eventually } from '../support/eventually.ts';
import { idOf, insertSessions, insertSpans, insertTraces } from '../support/projection-rows.ts';
import type { Json } from '../support/read-api.ts';
import { recordsIn, startScriptedLlm } from '../support/scripted-llm.ts';

databaseSuite('search and skills apart from the service', (test, database) => {
  test('what is recorded starts embedding, and when that is done there is no process', async () => {
    const embedder = await startEmbedder();
    const config = { 'embedding.provider': 'openai', 'embedding.target': `${embedder.url}/v1` };
    const shared = { idleMs: 300 };
    const stand = await standCassette(database(), { folder: 'search', manifest: search.manifest, config, shared });
    try {
      assert.is(stand.shown()?.state, 'admitted', JSON.stringify(stand.shown()?.trouble));
      assert.equal([stand.shown()?.isolation, stand.shown()?.liveness?.state], ['process', 'up']);
      await eventually(() => typeof stand.shown()?.last_run?.ended_at === 'string');
      assert.is(stand.pid(), null, 'nothing is recorded');
    } finally {
      await stand.close();
    }
    await demoApi(database());
    const again = await standCassette(database(), { folder: 'search', manifest: search.manifest, config, shared });
    try {
      await eventually(() => again.pid() !== null, 10_000);
      await eventually(() => typeof again.shown()?.last_run?.ended_at === 'string', 30_000);
      await eventually(() => (again.shown()?.progress?.done ?? 0) > 0);
      assert.is(again.shown()?.last_run?.error, null);
      await eventually(() => again.pid() === null, 10_000);
      assert.equal([again.shown()?.state, again.shown()?.liveness?.state], ['admitted', 'up']);
      const response = await again.ask('/spans?query=time%20zone&top_k=3');
      assert.is(((await response.json()) as Json).count, 3, 'a question starts it again');
    } finally {
      await again.close();
      await embedder.close();
    }
  });

  test('a skill that is generated from a hostile transcript stalls nobody', async () => {
    const llm = await startScriptedLlm((request) => {
      const [{ span = '', text = '' } = {}] = recordsIn(request);
      const quote = text.slice(0, 40);
      return JSON.stringify({
        name: 'x',
        sections: [{ heading: '', claims: [{ text: quote, sources: [{ span, quote }] }] }],
      });
    });
    const id = idOf('session', 9);
    await insertSessions(database(), [{ n: 9 }]);
    await insertTraces(database(), [{ n: 9, session: 9 }]);
    const text = `deploy the harbour ${'token '.repeat(1_000)}${' '.repeat(150_000)}${'-eyJaaaaaaaa'.repeat(10_000)}`;
    await insertSpans(database(), [
      {
        n: 9,
        trace: 9,
        session: 9,
        seq: 0,
        kind: 'llm',
        call_kind: 'main',
        input: [{ type: 'text', text }],
        output: [],
      },
    ]);
    const stand = await standCassette(database(), {
      ...{ folder: 'skills', manifest: skills.manifest, shared: { idleMs: 60_000 } },
      config: { 'llm.base_url': llm.url, 'llm.model': 'scripted-1' },
      environment: { SVC_CASSETTE_SKILLS_LLM_API_KEY: 'key' },
    });
    try {
      await (await stand.ask('')).text();
      const delay = monitorEventLoopDelay({ resolution: 10 });
      delay.enable();
      const response = await stand.ask('/generate', { method: 'POST', body: JSON.stringify({ sessionIds: [id] }) });
      delay.disable();
      assert.is(response.status, 201, await response.clone().text());
      const stalled = delay.max / 1e6;
      assert.ok(stalled < 1_000, `the loop of the service stood still for ${Math.round(stalled)} ms`);
      assert.ok((stand.pid() ?? process.pid) !== process.pid);
    } finally {
      await stand.close();
      await llm.close();
    }
  });
});
