/** Searches by words, by meaning and by both: what each finds, what it tells of it, and what filters leave. */
import * as assert from 'uvu/assert';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { indexAll } from '../../support/index-all.ts';
import type { Json } from '../../support/read-api.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: modes', (test, database) => {
  let server: Awaited<ReturnType<typeof startEmbedder>>;
  let search: Awaited<ReturnType<typeof standSearch>>;
  test.before(async () => {
    server = await startEmbedder();
    const exchanges = [
      ['apples and pears', 'Apples keep in the cellar. See orchardKeeper.storeApples().'],
      ['bread', 'Flour and water; the path is /srv/bakery/oven-7.toml'],
      ['tides at the harbour', 'Η παλίρροια φτάνει στις έξι'],
    ] as const;
    await storeCalls(
      database(),
      exchanges.map(([asks, answers], i) =>
        journalCall(`session-${i}`, { at: i, says: [user(asks)], answers: answer(answers) }),
      ),
    );
    await deriveAll(database());
    await indexAll(database());
    const config = { 'embedding.provider': 'ollama', 'embedding.target': server.url };
    search = await standSearch(database(), { config });
    assert.is(search.shown()?.state, 'admitted', JSON.stringify(search.shown()?.trouble));
    await search.embedded();
  });
  test.after(async () => {
    await search?.close();
    await server?.close();
  });
  const spans = async (parameters: Record<string, string>, of = search): Promise<Json> => {
    const response = await of.ask(`/spans?${new URLSearchParams(parameters)}`);
    assert.is(response.status, 200, await response.clone().text());
    return response.json();
  };

  test('vector is the default, byte for byte, and has no member more', async () => {
    const bytes = async (more: string) => (await search.ask(`/spans?query=apples&top_k=3${more}`)).text();
    const usual = await bytes('');
    assert.is(await bytes('&mode=vector'), usual);
    assert.equal(Object.keys(JSON.parse(usual).results[0]), [
      ...['session_id', 'trace_id', 'span_id', 'score', 'user_prompt', 'snippet', 'model', 'started_at'],
    ]);
  });

  test('text finds identifiers, paths and other scripts, and says where each is', async () => {
    for (const [query, match] of [
      ['storeApples', 'storeApples'],
      ['bakery/oven-7', 'bakery/oven-7'],
      ['παλίρροια', 'παλίρροια'],
    ] as const) {
      const { results, count, text_coverage, coverage } = await spans({ query, mode: 'text' });
      assert.is(count, 1, query);
      const [{ matches, kind, snippet, user_prompt, session_id }] = results;
      const [{ side, block, start, end, match: found }] = matches;
      assert.equal([kind, side, block, found], ['llm', 'output', 0, match]);
      assert.is(end - start, match.length);
      assert.match(snippet, match);
      assert.ok(user_prompt.length > 0 && session_id.length === 36);
      assert.equal(
        [text_coverage.spans, text_coverage.indexed, coverage],
        [text_coverage.spans, text_coverage.spans, undefined],
      );
    }
  });

  test('hybrid has what either finds, with its rank in each', async () => {
    const { results } = await spans({ query: 'apples', mode: 'hybrid', top_k: '10' });
    assert.equal(results[0].ranks, { text: 1, vector: 1 });
    assert.match(results[0].snippet, /apples/i);
    assert.ok(results.length >= 3, 'those that only have a meaning too');
    const only = results.at(-1);
    assert.equal([only.ranks.text, only.matches], [undefined, []]);
    const posted = await search.ask('/spans', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'apples', mode: 'hybrid', top_k: 10 }),
    });
    assert.equal(((await posted.json()) as Json).results, results);
  });

  test('without an embedder text answers, hybrid says that one half is missing, and vector is 503', async () => {
    const bare = await standSearch(database(), { config: { 'embedding.provider': 'openai' }, name: 'bare' });
    try {
      assert.is((await spans({ query: 'storeApples', mode: 'text' }, bare)).count, 1);
      const { count, missing } = await spans({ query: 'storeApples', mode: 'hybrid' }, bare);
      assert.equal([count, missing], [1, 'vector']);
      assert.is((await bare.ask('/spans?query=storeApples')).status, 503);
    } finally {
      await bare.close();
    }
  });

  test('filters hold in every mode', async () => {
    const { results } = await spans({ query: 'apples', mode: 'text' });
    const { model, started_at } = results[0];
    for (const mode of ['vector', 'text', 'hybrid']) {
      const count = async (filter: Record<string, string>) => (await spans({ query: 'apples', mode, ...filter })).count;
      const all = await count({});
      assert.ok(all > 0, mode);
      assert.is(await count({ model, status: 'ok', since: started_at.slice(0, 10) }), all, mode);
      assert.is(await count({ since: '0000-01-01', until: '9999-12-31T23:59:59-15:59' }), all, mode);
      for (const filter of [
        { model: 'other' },
        { status: 'error' },
        { until: '2001-01-01' },
        { since: '2101-01-01T00:00:00Z' },
        { project: 'no-such-project' },
        { agent_name: 'nobody' },
        { tool: 'Hammer' },
      ])
        assert.is(await count(filter as Record<string, string>), 0, `${mode} ${JSON.stringify(filter)}`);
    }
  });

  test('a mode or a filter that does not exist is refused', async () => {
    const noInstants = [
      'since=whenever',
      'until=2026-02-30',
      'since=2026-06-31T10:00:00Z',
      'since=2026-06-30T24:00:00Z',
    ];
    for (const query of ['mode=words', 'status=fine', 'folder=x', ...noInstants])
      assert.is((await search.ask(`/spans?query=apples&${query}`)).status, 400, query);
  });
  test.run();
});
