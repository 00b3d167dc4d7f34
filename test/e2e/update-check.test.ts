import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../support/eventually.ts';
import { startRegistry } from '../support/npm-registry.ts';
import { emptyFolder, removeFolder, startService, svc } from '../support/serve.ts';

const test = suite('the daily look for a newer version');

test('a service that may look does so once, says what it found, and svc version shows it', async () => {
  const folder = await emptyFolder();
  const registry = await startRegistry(folder);
  const next = join(folder, 'next');
  await mkdir(next);
  await writeFile(join(folder, '.npmrc'), `registry=${registry.origin}\n`);
  await writeFile(join(next, 'package.json'), '{ "name": "@svc-capture/svc", "version": "9.8.7" }');
  await registry.publish(next);
  const service = await startService(folder, { SVC_UPDATE_DISABLED: 'false' });
  try {
    const file = join(folder, '.svc', 'update.json');
    await eventually(() => existsSync(file));
    assert.match(await readFile(file, 'utf8'), '"latest":"9.8.7"');
    await eventually(() => service.log().includes('"latest":"9.8.7","msg":"a newer version of svc is out"'));
    assert.match((await svc(folder, ['version'])).err, 'svc 9.8.7 is out');
    assert.is(registry.requests.filter((path) => path.includes('svc-capture')).length, 1);
  } finally {
    await service.stop();
    registry.close();
    await removeFolder(folder);
  }
});

test.run();
