import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countSegments } from '../../../../core/db/client/log-segments.ts';
import { embeddedDatabase } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

const test = suite('the log of the embedded database');
const MIB = 2 ** 20;
const MOST = 128 * MIB;

// A checkpoint may remove or rename a segment after it was listed.
async function bytesOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

async function logBytes(folder: string): Promise<number> {
  const log = join(folder, 'data/pg_wal');
  const files = (await readdir(log)).filter((name) => /^[0-9A-F]{24}$/.test(name));
  const sizes = await Promise.all(files.map((name) => bytesOf(join(log, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test('it stays small however much is written', async () => {
  const database = await embeddedDatabase();
  const { folder = '' } = database;
  try {
    for (let n = 0; n < 20; n++) {
      await database.sql(
        "select count(pg_logical_emit_message(false, 'test', repeat('x', 1000000))) from generate_series(1, 12)",
      );
      assert.ok((await logBytes(folder)) <= MOST);
    }
    await eventually(async () => (await logBytes(folder)) <= 80 * MIB);
  } finally {
    await database.close();
  }
});

test('segments count from the last checkpoint on', () => {
  const stream_ops = { write: () => {}, close: () => {}, setattr: () => {} };
  const segments = countSegments({ stream_ops });
  const write = stream_ops.write as (stream: { path: string }) => void;
  const segment = (n: number) => ({ path: `/pglite/data/pg_wal/00000001000000000000000${n}` });
  for (const n of [1, 1, 2, 3]) write(segment(n));
  write({ path: '/pglite/data/base/5/1259' });
  write({ path: '/pglite/data/pg_wal/xlogtemp.42' });
  assert.is(segments(), 3);
  write({ path: '/pglite/data/global/pg_control' });
  assert.is(segments(), 0);
  write(segment(3));
  assert.is(segments(), 1);
});

test.run();
