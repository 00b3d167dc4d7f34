/** Are texts embedded once that are alike word for word, and is no more remembered than for that? */
import * as assert from 'uvu/assert';
import { embedsOnce } from '../../../cassettes/search/embed-once.ts';
import type { Embedder } from '../../../cassettes/search/embedder.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: texts that are alike', (test, database) => {
  let server: Awaited<ReturnType<typeof startEmbedder>>;
  let search: Awaited<ReturnType<typeof standSearch>>;
  const SESSIONS = 40; // more than a batch and more than a write
  const sql = (text: string) => database().sql(text);
  const newTexts = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = server.texts().length;
    await work();
    return server.texts().slice(before);
  };
  const vectors = () =>
    sql(
      'select count(*)::integer as vectors, count(distinct embedding::text)::integer as values from cassette_search.span_embeddings',
    );

  test.before(async () => {
    server = await startEmbedder();
    const says = [user('how do apples grow')];
    await storeCalls(database(), [journalCall('other', { at: 0, says, answers: answer('on trees') })]);
    await deriveAll(database());
    search = await standSearch(database(), {
      config: { 'embedding.provider': 'ollama', 'embedding.target': server.url },
    });
    await search.embedded(); // by the run that is due at once
  });
  test.after(async () => {
    await search.close();
    await server.close();
  });

  test('a text of many sessions is embedded once, and each has its vector', async () => {
    const calls = Array.from({ length: SESSIONS }, (_, i) =>
      journalCall(`same-${i}`, { at: 1 + i, says: [user('are you there')], answers: answer('yes') }),
    );
    await storeCalls(database(), calls);
    await deriveAll(database());
    assert.equal(await newTexts(() => search.pass()), ['are you there\nyes']);
    assert.equal(await vectors(), [{ vectors: SESSIONS + 1, values: 2 }]);
    assert.is((await search.status()).embedded, SESSIONS + 1);
  });

  test('a chunk that repeats within one text is embedded once', async () => {
    const chunk = `${'word '.repeat(799)}word`; // a model of ollama takes 4,000 units at once, with the end of the line
    const says = [user(Array.from({ length: 4 }, () => chunk).join('\n'))];
    await storeCalls(database(), [journalCall('repeats', { at: 60, says, answers: answer(chunk) })]);
    await deriveAll(database());
    assert.is((await newTexts(() => search.pass())).join(), chunk);
    assert.equal(await vectors(), [{ vectors: SESSIONS + 6, values: 3 }]);
  });

  test('once its sessions are purged, nothing of a text is left: the next session with it is embedded', async () => {
    const ids = await sql("select distinct session_id from svc.spans where plain_text like 'are you there%'");
    for (const { session_id } of ids)
      assert.is((await search.ask(`/v1/sessions/${session_id}`, { method: 'DELETE' })).status, 204);
    assert.equal(await newTexts(() => search.pass()), []);
    assert.equal(await vectors(), [{ vectors: 6, values: 2 }]);
    await storeCalls(database(), [
      journalCall('again', { at: 70, says: [user('are you there')], answers: answer('yes') }),
    ]);
    await deriveAll(database());
    assert.equal(await newTexts(() => search.pass()), ['are you there\nyes']);
  });

  const recorded = () => {
    const calls: string[][] = [];
    const embedder: Embedder = {
      ...{ model: 'test', chunkLength: 100, batch: 4 },
      async embed(texts) {
        calls.push([...texts]);
        return texts.map((text) => [text.length, 0]);
      },
    };
    return { calls, embedder };
  };

  test('vectors come in the order of the texts, and a call without a new text is not made', async () => {
    const { calls, embedder } = recorded();
    const { embed } = embedsOnce(embedder);
    assert.equal(await embed(['a', 'bb', 'a']), [
      [1, 0],
      [2, 0],
      [1, 0],
    ]);
    assert.equal(await embed(['bb', 'ccc', 'a']), [
      [2, 0],
      [3, 0],
      [1, 0],
    ]);
    assert.equal(await embed(['a', 'bb']), [
      [1, 0],
      [2, 0],
    ]);
    assert.equal(calls, [['a', 'bb'], ['ccc']]);
  });

  test('of more vectors than fit, those go that have not served for longest', async () => {
    const { calls, embedder } = recorded();
    const { embed } = embedsOnce(embedder, { mostNumbers: 4 });
    for (const text of ['a', 'bb', 'a', 'ccc', 'a', 'bb']) await embed([text]);
    assert.equal(calls, [['a'], ['bb'], ['ccc'], ['bb']]);
    assert.equal(
      await embed(['a', 'bb', 'ccc']),
      [
        [1, 0],
        [2, 0],
        [3, 0],
      ],
      'also where one call has more',
    );
  });

  test('after a minute all are forgotten', async () => {
    const { calls, embedder } = recorded();
    let now = 0;
    const { embed } = embedsOnce(embedder, { now: () => now });
    for (now of [0, 59_999, 60_000, 119_999, 120_000]) await embed(['a']);
    assert.is(calls.length, 3);
  });

  test('a call that fails leaves nothing behind', async () => {
    const { calls, embedder } = recorded();
    let failing = true;
    const { embed } = embedsOnce({
      ...embedder,
      embed: (texts) => (failing ? Promise.reject(new Error('away')) : embedder.embed(texts)),
    });
    await embed(['a']).then(
      () => assert.unreachable(),
      () => {},
    );
    failing = false;
    assert.equal(await embed(['a']), [[1, 0]]);
    assert.equal(calls, [['a']]);
  });
});
