/** A cassette's connections to a server: a stream keeps its own for as long as its reader may pause. */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openCassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { serverCalls } from '../../../../core/db/cassette/server-calls.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { openLog } from '../../../../core/log.ts';
import { openSemaphore } from '../../../../core/semaphore.ts';
import { emptyServerDatabase } from '../../../support/databases.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('connections of a cassette (server)');
const call = (text: string) => () => ({ schema: 'cassette_slow', text, shape: 'object' as const, settings: [] });

test('a stream goes on after a pause that is longer than connections stay without a statement', async () => {
  const own = await emptyServerDatabase(dsn);
  const log = openLog('silent');
  const database = await openDatabase({ dsn: own.dsn, pooled: false, folder: '', log });
  const cassettes = openCassetteDatabases({ database, dsn: own.dsn, pooled: false, log });
  await cassettes.provision({ name: 'slow', views: [], extensions: [] });
  await cassettes.migrate('slow', []);
  const login = () => database.execute('cassetteLogin', { name: 'slow' });
  const calls = serverCalls({ dsn: own.dsn, pooled: false, login, statements: openSemaphore(4), idleSeconds: 0.3 });
  try {
    const rows: { n: number }[] = [];
    for await (const texts of calls.stream(call('select n from generate_series(1, 5000) n'), 10_000)) {
      if (rows.length === 0) await sleep(900);
      for (const text of texts) rows.push(...(JSON.parse(`[${text}]`) as { n: number }[]));
    }
    assert.equal([rows.length, rows.at(-1)], [5_000, { n: 5_000 }]);
    for (let i = 0; i < 2; i += 1) {
      assert.equal(await calls.run(call('select 1 as n'), 10_000), ['{"n":1}']);
      await sleep(i === 0 ? 900 : 0); // the others are closed, and opened again
    }
  } finally {
    await calls.close();
    await cassettes.close();
    await database.close();
    await own.drop();
  }
});

if (dsn === '') console.log('skip: connections of a cassette (server): SVC_TEST_DSN is not set');
else test.run();
