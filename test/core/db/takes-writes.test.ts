/** What a `serve api` does beside its reads, on a database that takes no writes, as a standby. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../../core/db/open.ts';
import { openLog } from '../../../core/log.ts';
import { serverDatabase } from '../../support/databases.ts';

const test = suite('a database that takes no writes');
const dsn = process.env.SVC_TEST_DSN ?? '';

test('has positions of changes, and neither marks what is read nor records its size', async () => {
  const database = await serverDatabase(dsn);
  const readOnly = await openDatabase({
    dsn: `${database.dsn}?options=-c%20default_transaction_read_only%3Don`,
    pooled: false,
    folder: '',
    log: openLog('silent'),
    statementTimeoutMs: 60_000,
  });
  try {
    assert.is((await readOnly.execute('ping', {})).takes_writes, false);
    assert.equal(await readOnly.execute('changesNow', {}), await database.execute('changesNow', {}));
    await readOnly.execute('markLookedAt', { session_ids: [crypto.randomUUID()] });
    await readOnly.execute('recordSize', {});
    assert.equal(await database.sql('select 1 from svc.database_sizes'), []);
  } finally {
    await readOnly.close();
    await database.close();
  }
});

if (dsn === '') console.log('skip: a database that takes no writes: SVC_TEST_DSN is not set');
else test.run();
