/** A database that this user may not use is refused with the path. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { refuseUnusable } from '../../../../core/db/client/data-folder.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { openLog } from '../../../../core/log.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

const test = suite<{ folder: string }>('the folder of a database');

test.before.each(async (context) => {
  context.folder = await emptyFolder();
});
test.after.each(({ folder }) => removeFolder(folder));

test('none yet, and a whole one, are used', ({ folder }) => {
  refuseUnusable(folder);
  mkdirSync(join(folder, 'data/base'), { recursive: true });
  refuseUnusable(folder);
  writeFileSync(join(folder, 'data/PG_VERSION'), '18\n');
  refuseUnusable(folder);
});

test('what cannot be read is named, with the reason', async ({ folder }) => {
  const base = join(folder, 'data/base');
  mkdirSync(base, { recursive: true });
  writeFileSync(join(folder, 'data/PG_VERSION'), '18\n');
  let code = 'EACCES';
  if (process.getuid?.() === 0) {
    code = 'ELOOP'; // root may read everything else
    rmSync(base, { recursive: true });
    symlinkSync('base', base);
  } else chmodSync(base, 0);
  const error = await openDatabase({ dsn: '', pooled: false, folder, log: openLog('silent') }).catch((e: unknown) => e);
  if (code === 'EACCES') chmodSync(base, 0o700);
  assert.instance(error, OperatorError);
  assert.is(
    (error as OperatorError).message,
    `Cannot open the embedded database: this user cannot read and write '${base}' (${code})`,
  );
});

test.run();
