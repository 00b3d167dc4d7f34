/** An operator reads what retention would remove, before it removes anything, and gives space back by garbage collection. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { removeFolder, type Service, startService, svc } from '../support/serve.ts';

const test = suite('retention and garbage collection');

const DRY_RUN = { SVC_RETENTION_DAYS: '1', SVC_RETENTION_PROJECTS: 'ledger=forever', SVC_RETENTION_DRY_RUN: 'true' };

let service: Service;
let folder = '';

test.before(async () => {
  folder = await folderWithDatabase();
  service = await startService(folder, DRY_RUN);
});
test.after(async () => {
  await service?.stop();
  await removeFolder(folder);
});

test('the status shows what would go; a collection through the service reports what went, and is recorded', async () => {
  assert.is((await svc(folder, ['seed'])).status, 0);
  const page = await svc(folder, ['status']);
  assert.match(
    page.out,
    /retention +after 1 day, rules of 1 project; a dry run: would remove \d+ sessions with \d+ turns/,
  );
  const { status } = JSON.parse((await svc(folder, ['status', '--json'])).out);
  assert.ok(status.retention.next.sessions > 0);
  assert.equal(status.retention.projects, ['ledger=forever']);
  assert.is(status.retention.last, undefined);

  const collected = await svc(folder, ['gc', '--json']);
  assert.is(collected.status, 0, collected.err);
  const report = JSON.parse(collected.out);
  assert.equal([report.complete, report.left], [true, []]);
  assert.match(
    (await svc(folder, ['status'])).out,
    /garbage +collected .* ago: \d+ unused slices? of .*; .* given back/,
  );
  assert.match((await svc(folder, ['verify'])).out, /: all as written\n$/);
});

test('where no service runs the command collects by itself', async () => {
  await service.stop();
  const text = await svc(folder, ['gc']);
  assert.is(text.status, 0, text.err);
  assert.match(text.out, /^No slice was unused\nThe database takes [\d.]+ Mi?B on disk/, text.out);
  assert.match((await svc(folder, ['verify'])).out, /: all as written\n$/);
});

test.run();
