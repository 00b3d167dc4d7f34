/** A server without Citus keeps a service that is to distribute its tables from starting. (storage.distributed) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isCitus } from '../support/citus-cluster.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { emptyFolder, removeFolder, svc } from '../support/serve.ts';

const cluster = process.env.SVC_TEST_DSN ?? '';
const test = suite('a server without Citus');

test('keeps the service from starting, and says why', async () => {
  const { dsn, drop } = await emptyServerDatabase(cluster);
  const folder = await emptyFolder();
  try {
    const env = { SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };
    const settings = { ...env, SVC_STORAGE_POSTGRES_DSN: dsn, SVC_STORAGE_DISTRIBUTED: 'citus' };
    const { status, err } = await svc(folder, ['serve'], settings);
    assert.is(status, 2);
    assert.is(
      err,
      'Cannot distribute the database (storage.distributed = "citus"): its server does not have the extension Citus\n',
    );
  } finally {
    await removeFolder(folder);
    await drop();
  }
});

if (cluster === '' || isCitus(cluster)) console.log('skip: a server without Citus: SVC_TEST_DSN names none');
else test.run();
