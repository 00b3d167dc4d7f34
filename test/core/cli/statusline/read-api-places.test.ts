/** Where the status line looks for a service, and where it sends a token. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readApiPlaces } from '../../../../core/cli/statusline/read-api-places.ts';

const test = suite('the places of a read API');
const USUAL = 'http://127.0.0.1:8081';
const token = 'planted-token';

async function placesWith(published: unknown): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-places-'));
  try {
    await mkdir(join(folder, '.svc'));
    await writeFile(join(folder, '.svc', 'service.json'), JSON.stringify(published));
    const places = await readApiPlaces({ env: { SVC_API_TOKEN: token }, folders: [folder] });
    for (const place of places) assert.is(place.token, token);
    return places.map(({ address }) => address);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const ofThisMachine = Object.values(networkInterfaces())
  .flatMap((several) => several ?? [])
  .map(({ address, family }) => `http://${family === 'IPv6' ? `[${address}]` : address}:9000`);

for (const api of [
  ...ofThisMachine,
  'http://127.0.0.1:9000',
  'http://[::1]:9000',
  'http://0.0.0.0:9000',
  'http://[::]:9000',
])
  test(`a service that has published ${api} is asked first`, async () => {
    assert.equal(await placesWith({ api }), [api, USUAL]);
  });

for (const api of [
  'http://host.example',
  'http://127.0.0.1.example:80',
  'http://203.0.113.9:8081',
  'http://[2001:db8::1]:8081',
  'no address',
  7,
  null,
])
  test(`a file that came with a project, with ${api}, gets no token`, async () => {
    assert.equal(await placesWith({ api }), [USUAL]);
  });

test.run();
