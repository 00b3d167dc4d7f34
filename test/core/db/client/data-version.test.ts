/** A database of another PostgreSQL is refused with the way out of it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noteUse, POSTGRES, refuseOtherPostgres } from '../../../../core/db/client/data-version.ts';
import { packageRoot } from '../../../../core/package-root.ts';
import { templateFolder } from '../../../support/databases.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

const test = suite<{ folder: string }>('the PostgreSQL of a database');

test.before.each(async (context) => {
  context.folder = await emptyFolder();
  mkdirSync(join(context.folder, 'data'));
});
test.after.each(({ folder }) => removeFolder(folder));

const made = (folder: string, version: string) => writeFileSync(join(folder, 'data/PG_VERSION'), `${version}\n`);

test('a new database is of the version that this build says it has', async () => {
  const version = readFileSync(join(await templateFolder(), 'data/PG_VERSION'), 'utf8');
  assert.is(Number(version), POSTGRES);
});

test('none yet, and one of this build, are opened', ({ folder }) => {
  refuseOtherPostgres(folder);
  made(folder, String(POSTGRES));
  refuseOtherPostgres(folder);
});

test('an older one: which svc writes the backup, and what follows', ({ folder }) => {
  made(folder, '17');
  assert.throws(
    () => refuseOtherPostgres(folder),
    /it is of PostgreSQL 17, and this svc has PostgreSQL \d+; with the svc that used it last, run 'svc backup -o \S+'; move '\S+data' away; then run 'svc restore/,
  );
  writeFileSync(join(folder, 'data.used-by'), '0.9.1\n');
  assert.throws(() => refuseOtherPostgres(folder), /with svc 0\.9\.1, which used it last, run/);
});

test('a newer one: no backup is needed, but a newer svc', ({ folder }) => {
  made(folder, String(POSTGRES + 1));
  assert.throws(() => refuseOtherPostgres(folder), /; use the svc that used it last, or a later one$/);
});

test('what a foreign hand wrote beside it is not repeated', ({ folder }) => {
  made(folder, '17');
  writeFileSync(join(folder, 'data.used-by'), '1.0.0\u001b[2J');
  assert.throws(
    () => refuseOtherPostgres(folder),
    (error: Error) => !error.message.includes('\u001b'),
  );
});

test('the version of svc is noted once', ({ folder }) => {
  noteUse(folder);
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  assert.is(readFileSync(join(folder, 'data.used-by'), 'utf8'), `${version}\n`);
  noteUse(join(folder, 'absent')); // cannot be written: no failure
  assert.not.ok(existsSync(join(folder, 'absent')));
});

test.run();
