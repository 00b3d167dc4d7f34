import * as assert from 'uvu/assert';
import { askingThread } from '../../support/asking-thread.ts';
import { databaseSuite } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

databaseSuite('worker', (test, database) => {
  test('another thread asks the same database', async () => {
    const thread = await askingThread(database());
    assert.equal(await thread.ask('installation', {}), await database().execute('installation', {}));
    await thread.close();
    assert.ok(await database().execute('ping', {}), 'the opener is not touched');
  });

  test('threads hear what another one notifies', async () => {
    const threads = [await askingThread(database()), await askingThread(database())];
    await database().sql(`select pg_notify('news', 'ready')`);
    await eventually(() => threads.every(({ heard }) => heard.length === 1));
    await threads[0]?.close();
    await database().sql(`select pg_notify('news', 'again')`);
    await eventually(() => threads[1]?.heard.length === 2);
    assert.equal(threads[0]?.heard, ['ready']);
    await threads[1]?.close();
  });

  test('a thread that dies leaves the others their database', async () => {
    const thread = await askingThread(database());
    await thread.worker.terminate();
    assert.ok(await database().execute('ping', {}));
    await database().sql(`select pg_notify('news', 'nobody')`);
  });

  test('many asks of many threads are each answered', async () => {
    const threads = await Promise.all([askingThread(database()), askingThread(database())]);
    const asks = threads.flatMap((thread) => Array.from({ length: 100 }, () => thread.ask('ping', {})));
    assert.is((await Promise.all(asks)).length, 200);
    await Promise.all(threads.map((thread) => thread.close()));
  });

  test('what cannot be asked is told to the asker', async () => {
    const ask = database().execute as unknown as (name: string, args: unknown) => Promise<unknown>;
    const error = await ask('nonsense', {}).catch((thrown: unknown) => thrown);
    assert.instance(error, Error);
    if (database().kind === 'server') return; // nothing has to be cloned
    const uncloned = await ask('ping', { f: () => {} }).catch((thrown: unknown) => thrown);
    assert.match(String(uncloned), /could not be cloned/);
    assert.ok(await database().execute('ping', {}));
  });
});
