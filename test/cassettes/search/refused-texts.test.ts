import * as assert from 'uvu/assert';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

type Server = Awaited<ReturnType<typeof startEmbedder>>;

databaseSuite('search: texts that an embedder behind HTTP refuses', (test, database) => {
  let server: Server;
  let search: Awaited<ReturnType<typeof standSearch>>;
  let refuse: (input: readonly string[]) => number = () => 200;

  /** Sessions of one call each. @param at the minute of the first */
  const store = async (texts: readonly string[], at: number) => {
    const calls = texts.map((text, i) =>
      journalCall(`${at}-${i}`, { at: at + i / 1_000, says: [user(text)], answers: answer('so it is') }),
    );
    await storeCalls(database(), calls);
    await deriveAll(database());
  };
  const run = async (): Promise<{ error: string | null; requests: number }> => {
    const before = server.requests.length;
    const error = await search.pass().then(
      () => null,
      ({ message }: Error) => message,
    );
    return { error, requests: server.requests.length - before };
  };
  const settled = async () => {
    const { embedded, failed, pending } = await search.status();
    return { embedded, failed, pending };
  };

  test.before(async () => {
    server = await startEmbedder({ refuse: (input) => refuse(input) });
    const config = {
      'embedding.provider': 'openai',
      'embedding.target': `${server.url}/v1`,
      'embedding.model': 'mine',
    };
    search = await standSearch(database(), { config });
    await search.embedded();
  });
  test.after(async () => {
    await search.close();
    await server.close();
  });
  test.before.each(() => {
    refuse = () => 200;
  });

  test('whoever refuses every text with 400 has a wrong setting: few are sent, and none is marked as failed', async () => {
    await store(
      Array.from({ length: 30 }, (_, i) => `unsettled ${i}`),
      0,
    );
    for (const status of [400, 401, 403, 404, 413, 422]) {
      refuse = () => status;
      const { error, requests } = await run();
      assert.is(error, `Cannot embed: openai answered ${status}`);
      assert.ok(requests <= 2, `${status}: ${requests}`);
    }
    assert.equal(await settled(), { embedded: 0, failed: 0, pending: 30 });
  });

  test('a single text that is refused by whoever refuses all is not marked either', async () => {
    await run();
    await store(['alone'], 1);
    refuse = () => 400;
    assert.is((await run()).error, 'Cannot embed: openai answered 400');
    assert.equal(await settled(), { embedded: 30, failed: 0, pending: 1 });
  });

  test('of a group that is refused only the texts are marked that are refused alone, and few calls find them', async () => {
    await run();
    await store(
      Array.from({ length: 16 }, (_, i) => (i === 5 ? 'poison' : `wholesome ${i}`)),
      2,
    );
    refuse = (input) => (input.some((text) => text.includes('poison')) ? 400 : 200);
    const { error, requests } = await run();
    assert.is(error, null);
    assert.ok(requests <= 10, String(requests)); // the group, a harmless text, and two halves of each of four groups
    assert.equal(await settled(), { embedded: 46, failed: 1, pending: 0 });
  });

  test('a text of which the embedder takes fewer chunks at once is embedded whole', async () => {
    await store(['many words '.repeat(6_000)], 3);
    refuse = (input) => (input.length > 4 ? 422 : 200);
    assert.is((await run()).error, null);
    assert.equal(await settled(), { embedded: 47, failed: 1, pending: 0 });
    const { requests } = server;
    assert.ok(requests.some(({ input }) => input.length > 4));
  });

  test('after a hundred refused texts a run ends, and the next one goes on', async () => {
    await store(
      Array.from({ length: 150 }, (_, i) => `poison ${i}`),
      4,
    );
    refuse = (input) => (input.some((text) => text.includes('poison')) ? 400 : 200);
    const { error, requests } = await run();
    assert.match(error ?? '', /were refused; the next run goes on/);
    assert.ok(requests < 300, String(requests));
    assert.is((await settled()).failed, 1 + 112);
    assert.is((await run()).error, null);
    assert.equal(await settled(), { embedded: 47, failed: 151, pending: 0 });
  });
});
