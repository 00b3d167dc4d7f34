/** Commands about cassettes act on the list of the service that runs, wherever they are called, and say which that is. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService, svc } from '../support/serve.ts';

type List = { cassettes: { name: string; state: string }[] };

const test = suite<{ folder: string; elsewhere: string; service: Service; env: Record<string, string> }>(
  'svc cassette, called elsewhere than the service',
);

test.before(async (context) => {
  context.folder = await folderWithDatabase();
  context.elsewhere = await emptyFolder();
  context.service = await startService(context.folder);
  context.env = { SVC_CLIENT_API_TARGET: context.service.api };
});
test.after(async ({ folder, elsewhere, service }) => {
  await service?.stop();
  await Promise.all([folder, elsewhere].map(removeFolder));
});

test('add puts a cassette onto the list of the service that runs, and says so', async ({
  folder,
  elsewhere,
  service,
  env,
}) => {
  assert.is((await svc(elsewhere, ['cassette', 'new', 'weather'])).status, 0);
  const { status, out, err } = await svc(join(elsewhere, 'weather'), ['cassette', 'add', '.', '--yes'], env);
  assert.is(status, 0, err);
  assert.match(out, `It goes onto the list of the service at ${service.api}, which runs in ${join(folder, '.svc')}\n`);
  const list = join(folder, '.svc/cassette.manifest.json');
  assert.match(out, `Added weather to ${list}\n`);
  assert.match(await readFile(list, 'utf8'), '"weather"');
  assert.not.ok(existsSync(join(elsewhere, 'weather/.svc')), 'nothing is left where the command was called');
  await eventually('it is in', async () => {
    const { cassettes } = await read<List>(`${service.api}/v1/cassettes`);
    return cassettes.some(({ name, state }) => name === 'weather' && state === 'admitted');
  });
});

test('list and remove act on the same one', async ({ folder, elsewhere, env, service }) => {
  const { out } = await svc(elsewhere, ['cassette', 'list'], env);
  assert.match(out, /weather +admitted/);
  assert.match(out, `The list is ${join(folder, '.svc/cassette.manifest.json')}\n`);
  const purged = await svc(elsewhere, ['cassette', 'remove', 'weather', '--purge'], env);
  assert.is(purged.status, 2);
  assert.match(purged.err, `Cannot purge 'weather' from here: the list is of the service at ${service.api}`);
  const removed = await svc(elsewhere, ['cassette', 'remove', 'weather'], env);
  assert.is(removed.status, 0, removed.err);
  assert.match(removed.out, `Removed weather from ${join(folder, '.svc/cassette.manifest.json')}`);
  assert.not.ok(existsSync(join(folder, '.svc/cassettes/weather')));
});

test('where no service answers the list is that of the folder, and that is said', async ({ elsewhere }) => {
  const env = { SVC_CLIENT_API_TARGET: 'http://127.0.0.1:2' };
  const { status, out, err } = await svc(join(elsewhere, 'weather'), ['cassette', 'add', '.', '--yes'], env);
  assert.is(status, 0, err);
  assert.match(out, 'It goes onto the list of this folder: no service answers at http://127.0.0.1:2\n');
  assert.match(out, `Added weather to ${join(elsewhere, 'weather/.svc/cassette.manifest.json')}\n`);
});

test.run();
