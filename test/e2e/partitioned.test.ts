/** A service partitions the database that it has filled; what it recorded reads as before, and goes into a backup and out of it. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isCitus } from '../support/citus-cluster.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { emptyFolder, removeFolder, startService, svc } from '../support/serve.ts';

const cluster = process.env.SVC_TEST_DSN ?? '';
const test = suite('a partitioned database');

test('a filled one is partitioned at a start, reads as before, and is backed up and restored', async () => {
  const { dsn, drop } = await emptyServerDatabase(cluster);
  const empty = await emptyServerDatabase(cluster);
  const folder = await emptyFolder();
  const other = await emptyFolder();
  const plain = { SVC_STORAGE_POSTGRES_DSN: dsn };
  const partitioned = { ...plain, SVC_STORAGE_PARTITIONED: 'month', SVC_RETENTION_DAYS: '90' };
  let service = await startService(folder, plain);
  try {
    const read = async (path: string) => (await fetch(`${service.api}${path}`)).text();
    assert.is((await svc(folder, ['seed'], plain)).status, 0);
    const paths = [
      '/v1/sessions?limit=100',
      '/v1/stats',
      '/v1/coverage',
      '/v1/traces?limit=100',
      '/v1/sessions/3d6a6b14-1e73-592e-acfb-d3958662f620/traces?payload=full',
    ];
    const before = await Promise.all(paths.map(read));
    assert.not.match((await svc(folder, ['status'], plain)).out, /partitions/);
    await service.stop();

    service = await startService(folder, partitioned);
    for (const [i, path] of paths.entries()) assert.is((await read(path)) === before[i], true, path);
    assert.ok(before.every((text) => text.length > 200 && !text.includes('about:blank')));
    const page = await svc(folder, ['status'], partitioned);
    assert.match(
      page.out,
      /partitions +2, the oldest from before the first \([\d.]+ Mi?B\); the current one since \d{4}-\d\d-\d\d\n/,
    );
    assert.match((await svc(folder, ['verify'], partitioned)).out, /: all as written\n$/);

    const file = join(folder, 'record.svc');
    assert.is((await svc(folder, ['backup', '-o', file], partitioned)).status, 0);
    for (const into of [{}, { ...partitioned, SVC_STORAGE_POSTGRES_DSN: empty.dsn }]) {
      const restored = await svc(other, ['restore', file], into);
      assert.is(restored.status, 0, restored.err);
      assert.match((await svc(other, ['verify'], into)).out, /: all as written\n$/);
    }
  } finally {
    await service.stop();
    await removeFolder(folder);
    await removeFolder(other);
    await drop();
    await empty.drop();
  }
});

if (cluster === '' || isCitus(cluster))
  console.log('skip: a partitioned database: SVC_TEST_DSN names no server of its own');
else test.run();
