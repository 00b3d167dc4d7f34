/** The way to a PGlite with the next PostgreSQL, as core/deploy/README.md has it: a backup by the svc before, and a restore by the one after. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { type Json, testApi } from '../support/read-api.ts';
import { eventually, removeFolder, startService, svc } from '../support/serve.ts';

const test = suite<{ folder: string }>("PGlite's next PostgreSQL");

test.before(async (context) => {
  context.folder = await folderWithDatabase();
});
test.after(({ folder }) => removeFolder(folder));

/** What readers see, by path, however it is read. */
async function shown(get: (path: string) => Promise<Json>): Promise<Record<string, Json>> {
  const found: Record<string, Json> = {
    '/v1/sessions': await get('/v1/sessions?limit=200'),
    '/v1/stats': await get('/v1/stats'),
  };
  for (const { id } of found['/v1/sessions'].items) {
    const path = `/v1/sessions/${id}/traces`;
    found[path] = await get(path);
  }
  return found;
}

test('the sentence leads through it, and what was recorded is as it was', async ({ folder }) => {
  const service = await startService(folder);
  let before: Record<string, Json>;
  try {
    await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' });
    const get = async (path: string): Promise<Json> => (await fetch(service.api + path)).json();
    await eventually('all to be derived', async () => (await get('/v1/admin/status')).derive.queued === 0);
    before = await shown(get);
    assert.is(Object.keys(before).length, 2 + 12);
    const backup = await svc(folder, ['backup', '-o', 'svc.backup']);
    assert.is(backup.status, 0, backup.err);
  } finally {
    await service.stop();
  }

  // a build with the next PostgreSQL finds what this one has: the other way round, the files of the one before
  const data = join(folder, '.svc/data');
  writeFileSync(join(data, 'PG_VERSION'), '17\n');
  const used = readFileSync(join(folder, '.svc/data.used-by'), 'utf8').trim();
  const sentence = `it is of PostgreSQL 17, and this svc has PostgreSQL 18; with svc ${used}, which used it last, run 'svc backup -o svc.backup'`;
  for (const args of [
    ['serve', '--api-listen', ':0', '--proxy-listen', ':0', '--ingest-listen', ':0'],
    ['verify'],
    ['restore', 'svc.backup'],
  ]) {
    const refused = await svc(folder, args);
    assert.is(refused.status, 1, args[0]);
    assert.match(refused.err, sentence, args[0]);
  }

  renameSync(data, join(folder, 'former'));
  const restored = await svc(folder, ['restore', 'svc.backup']);
  assert.is(restored.status, 0, restored.err);
  const database = await openDatabase({ dsn: '', pooled: false, folder: join(folder, '.svc'), log: openLog('silent') });
  try {
    const api = testApi({ execute: database.execute, now: Date.now });
    const after = await shown(async (path) => (await api.request(path)).json());
    for (const [path, document] of Object.entries(before)) assert.equal(after[path], document, path);
  } finally {
    await database.close();
  }
});

test.run();
