/** Whether a backup holds a table is decided for each table of the service, and said with its reason. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { KEPT_NAMES } from '../../../../core/db/backup/kept-tables.ts';
import { packageRoot } from '../../../../core/package-root.ts';
import { databaseSuite } from '../../../support/databases.ts';

/** The table of the guide: names, and whether a backup holds them. */
function decisions(): Map<string, string> {
  const guide = readFileSync(join(packageRoot(), 'core/cli/keep/README.md'), 'utf8');
  const [, table = ''] = guide.split('### What is in it');
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.flatMap((row) => {
      const [names = '', held = ''] = row.split(' | ');
      return [...names.matchAll(/`(\w+)`/g)].map(([, name = '']): [string, string] => [name, held]);
    }),
  );
}

databaseSuite('tables that a backup holds', (test, database) => {
  test('each table of the service is in the guide, with what is done with it', async () => {
    const decided = decisions();
    const tables = await database().sql(`
      select c.relname as name from pg_class c
       where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`);
    assert.ok(tables.length > 20, `${tables.length}`);
    assert.equal(
      tables.map(({ name }) => String(name)).filter((name) => !decided.has(name)),
      [],
    );
    const held = [...decided].filter(([, isHeld]) => isHeld === 'yes').map(([name]) => name);
    const apart = ['cassette_migrations']; // read with the schemas of the cassettes
    assert.equal(
      held.filter((name) => !apart.includes(name)).sort(),
      KEPT_NAMES.map((name) => name.replace('svc.', '')).sort(),
    );
  });
});
