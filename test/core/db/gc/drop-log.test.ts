/** After the write-ahead log of the embedded database was dropped, no file of it holds what was written before. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { embeddedDatabase } from '../../../support/databases.ts';
import { filesHolding } from '../../../support/files-holding.ts';

const test = suite('dropping the write-ahead log');

test('no segment holds what was written before, also those that checkpoints gave a later name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-log-'));
  const database = await embeddedDatabase({ folder });
  const log = join(folder, 'data', 'pg_wal');
  try {
    await database.sql('create table public.written (line text)');
    await database.sql('alter table public.written alter line set storage plain');
    for (let n = 0; n < 4; n++) {
      await database.sql(`insert into public.written select 'MARK' || i || repeat(md5(i::text), 100)
                            from generate_series(1, 5000) i`);
      await database.sql('checkpoint');
    }
    await database.sql('drop table public.written');
    assert.ok(filesHolding(log, 'MARK').length > 1, 'recycled segments hold it');
    await database.execute('dropLog', {});
    assert.equal(filesHolding(log, 'MARK'), []);
    await database.sql('create table public.written (line text)');
    await database.execute('dropLog', {});
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test.run();
