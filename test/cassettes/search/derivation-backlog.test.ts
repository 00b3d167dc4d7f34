/** Does embedding wait while derivation has a backlog, and for nothing else? */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { BACKLOG_SESSIONS, backlogPassed, hasBacklog } from '../../../cassettes/search/derivation-backlog.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { eventually } from '../../support/eventually.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: a backlog of derivation', (test, database) => {
  let server: Awaited<ReturnType<typeof startEmbedder>>;
  let search: Awaited<ReturnType<typeof standSearch>>;
  let embeds: () => Promise<void> = async () => {}; // before the embedder answers
  let at = 0;

  /** New conversations, which nobody has derived yet. */
  const store = (name: string, count: number) => {
    const calls = Array.from({ length: count }, (_, i) =>
      journalCall(`${name}-${i}`, { at: at++, says: [user(`${name} ${i}`)], answers: answer(`reply ${i}`) }),
    );
    return storeCalls(database(), calls);
  };
  const toDerive = async () => (await database().execute('derivePending', {})).queued;
  /** Each once: the stand's own runs, every 30 s, may embed the same. */
  const newTexts = (): (() => string[]) => {
    const before = server.texts().length;
    return () => [...new Set(server.texts().slice(before))];
  };
  /** Long enough for a run that waits for nothing. */
  const aWhile = () => sleep(3_000);

  test.before(async () => {
    server = await startEmbedder({
      refuse: async () => {
        await embeds();
        return 200;
      },
    });
    await store('first', 1);
    await deriveAll(database());
    search = await standSearch(database(), {
      config: { 'embedding.provider': 'ollama', 'embedding.target': server.url },
    });
    await search.embedded();
  });
  test.after(async () => {
    await search.close();
    await server.close();
  });
  test.before.each(async () => {
    embeds = async () => {};
    await deriveAll(database());
    await search.pass();
  });

  test('beside a backlog nothing is embedded, and once it has passed everything is', async () => {
    await store('fresh', 1);
    await deriveAll(database());
    await store('flood', BACKLOG_SESSIONS);
    const left: number[] = [];
    embeds = async () => void left.push(await toDerive());
    const texts = newTexts();
    const run = search.pass();
    await aWhile();
    assert.equal(texts(), []);
    await deriveAll(database());
    await run;
    await search.pass();
    assert.is(texts().length, 1 + BACKLOG_SESSIONS);
    assert.ok(
      left.every((sessions) => sessions < BACKLOG_SESSIONS),
      String(left),
    );
  });

  test('a run over which a backlog comes ends its batch, and goes on after it', async () => {
    const SPANS = 40;
    await store('many', SPANS);
    await deriveAll(database());
    let stored: Promise<unknown> | undefined;
    embeds = async () => {
      stored ??= store('meanwhile', BACKLOG_SESSIONS);
      await stored;
    };
    const texts = newTexts();
    const run = search.pass();
    await eventually(async () => texts().length >= 16); // the whole batch, however long it takes
    await aWhile();
    assert.is(texts().length, 16);
    await deriveAll(database());
    await run;
    await search.pass();
    assert.is(texts().length, SPANS + BACKLOG_SESSIONS);
  });

  test('a fresh turn waits for no few sessions that are being derived', async () => {
    await store('alone', 1);
    await deriveAll(database());
    await store('few', BACKLOG_SESSIONS - 1);
    const texts = newTexts();
    await Promise.race([search.pass(), sleep(20_000)]);
    assert.equal(texts(), ['alone 0\nreply 0']);
    assert.is(await toDerive(), BACKLOG_SESSIONS - 1);
  });

  test('what is deleted is forgotten without waiting', async () => {
    const [session_id = ''] = await store('secret', 1);
    await deriveAll(database());
    await search.pass();
    await store('flood again', BACKLOG_SESSIONS);
    const entries = () =>
      database().sql('select 1 from cassette_search.embedded_spans where session_id = $1::uuid', [session_id]);
    assert.is((await entries()).length, 1);
    await database().sql('delete from svc.spans where session_id = $1::uuid', [session_id]);
    await database().sql(
      'update svc.session_changes set changed_by = pg_current_xact_id() where session_id = $1::uuid',
      [session_id],
    );
    const run = search.pass();
    await eventually(async () => (await entries()).length === 0);
    assert.ok(await hasBacklog(search.env()));
    await deriveAll(database());
    await run;
  });

  test('the wait ends after some time all the same, and at the signal', async () => {
    await store('endless', BACKLOG_SESSIONS);
    const { signal } = new AbortController();
    await backlogPassed(search.env(), signal, { lookMs: 10, mostMs: 100 });
    await backlogPassed(search.env(), AbortSignal.timeout(100), { lookMs: 300_000, mostMs: 600_000 });
    assert.ok(await hasBacklog(search.env()));
  });
});
