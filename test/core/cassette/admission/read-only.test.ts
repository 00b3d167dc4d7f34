/** A database that takes no writes, as a standby: a cassette is refused with that as the reason, not with an outage. */
import * as assert from 'uvu/assert';
import exporter from '../../../../cassettes/export/cassette.ts';
import { standCassette } from '../../../support/cassette-stand.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

databaseSuite('admission on a database that takes no writes', (test, database) => {
  test('the reason is that it takes none', async () => {
    if (database().kind === 'embedded') return; // it has no standby
    const [row] = await database().sql(`select quote_ident(current_database()) as name`);
    await database().sql(`alter database ${row?.name} set default_transaction_read_only = on`);
    await database()
      .sql(
        'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      .catch(() => {});
    await database()
      .sql('select pg_terminate_backend(pg_backend_pid())')
      .catch(() => {});
    const stand = await standCassette(database(), { folder: 'export', manifest: exporter.manifest });
    try {
      const reason = () => stand.shown()?.trouble?.reason ?? '';
      await eventually(() => !reason().endsWith('is away')).catch(() => {}); // the first attempts find connections that were ended
      assert.is(reason(), 'Cannot make its schema: the database takes no writes (a standby)');
    } finally {
      await stand.close();
    }
  });
});
