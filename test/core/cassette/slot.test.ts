import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CassetteDatabases } from '../../../core/cassette/database/cassette-databases.ts';
import { openHost } from '../../../core/cassette/host.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { MigrationRefused } from '../../../core/db/cassette/grants-unavailable.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, emptyCassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('slot');

test('one that died is stale with the reason, since then, and admitted as soon as it is up again', async () => {
  const source = await cassetteFolder({ before: "if (path === '/api/notes/now') process.exit(3);" });
  const tmp = await emptyCassetteFolder();
  const host = openHost({
    ...{ installed: '/nowhere', databases: null, core: null, environment: {}, tmp, log: openLog('silent') },
    now: () => 0, // what its slot says is of long ago
    refreshMs: 20,
  });
  try {
    const entries = [ListEntry.parse({ name: 'notes', source })];
    void host.apply({ entries, loaded_at: '', problem: null, folderOf: () => '/' });
    await eventually(() => host.installed()[0]?.state === 'admitted');
    assert.is(host.installed()[0]?.since, '1970-01-01T00:00:00Z');

    const died = host.fetch('notes', new Request('http://cassette/api/notes/now')).catch(() => {});
    const seen = new Set<string>();
    await eventually(() => {
      const { state, liveness, trouble, since } = host.installed()[0] ?? {};
      seen.add(`${liveness?.state}, ${state}: ${trouble?.step} ${trouble?.reason}`);
      if (state === 'stale') assert.equal([since, trouble?.observed_at], [liveness?.since, liveness?.since]);
      return liveness?.state === 'up' && liveness.restarts === 1;
    });
    await died;
    assert.equal([...seen], ['up, admitted: undefined undefined', 'restarting, stale: start it ended with code 3']);
    assert.match(host.installed()[0]?.since ?? '', /^20/);
  } finally {
    await host.close(0);
    await Promise.all([source, tmp].map(removeCassetteFolder));
  }
});

test('a slow migration is not tried again by itself, until the code of its cassette changes', async () => {
  const manifest = { bindings: { db: true }, depends: { views: ['sessions'] } };
  const grants = { bindings: ['db' as const], views: ['sessions'] };
  const source = await cassetteFolder({ manifest, migrations: [{ name: '0001', sql: 'select 1' }] });
  const tmp = await emptyCassetteFolder();
  let migrations = 0;
  const databases = {
    provision: async () => {},
    missingViews: async () => [],
    migrate: async () => {
      migrations += 1;
      throw new MigrationRefused('0001', 'was ended after 10 s', { final: true });
    },
    db: () => null,
  } as unknown as CassetteDatabases;
  const host = openHost({
    ...{ installed: '/nowhere', databases, core: null, environment: {}, tmp, log: openLog('silent'), now: Date.now },
    retryMs: { first: 20, most: 20 },
  });
  try {
    const entries = [ListEntry.parse({ name: 'notes', source, grants })];
    void host.apply({ entries, loaded_at: '', problem: null, folderOf: () => '/' });
    await eventually(() => migrations === 1 && host.installed()[0]?.state === 'rejected');
    assert.match(host.installed()[0]?.trouble?.reason ?? '', /0001: was ended after 10 s/);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.is(migrations, 1);
    await writeFile(join(source, 'changed.js'), '');
    await eventually(() => migrations === 2);
  } finally {
    await host.close(0);
    await Promise.all([source, tmp].map(removeCassetteFolder));
  }
});

test.run();
