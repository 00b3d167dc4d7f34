import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listCassettes } from '../../../../core/cli/cassette/list.ts';
import { loadConfig } from '../../../../core/config/load.ts';

const test = suite('svc cassette list');
let cwd = '';
test.before(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-list-'));
  await mkdir(join(cwd, '.svc'));
});
test.after(() => rm(cwd, { recursive: true, force: true }));

const put = (value: unknown) =>
  writeFile(join(cwd, '.svc/cassette.manifest.json'), typeof value === 'string' ? value : JSON.stringify(value));

const LIST = {
  cassettes: [
    { name: 'summaries', source: 'npm:@acme/summaries@1.2.0' },
    { name: 'far', source: 'https://acme.example/openapi?key=hunter2' },
    { name: 'quiet', source: './quiet', enabled: false, isolation: 'inline' },
    { name: 'late', source: './late' },
  ],
};

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000 - 5_000).toISOString();
const info = (name: string, state: string, more = {}) => ({
  name,
  state,
  since: ago(3),
  isolation: 'process',
  ...more,
});
const problem = { subject: 'summaries', step: 'config', reason: 'Cannot start it: "api_key" is missing', problems: [] };

async function list({ address, json = false }: { address?: string; json?: boolean } = {}) {
  let out = '';
  const flags = { 'client.api_target': address ?? 'http://127.0.0.1:9', 'cassettes.built_in': 'false' };
  const io = { cwd, home: cwd, env: {}, err: () => {}, out: (text: string) => (out += text) };
  const status = await listCassettes(loadConfig({ flags, env: {}, cwd, home: cwd }), { json }, io);
  return { status, out: stripVTControlCharacters(out) };
}

async function serving<T>(body: unknown, use: (address: string) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => {
    if (request.url === '/ping') response.end('"pong"');
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

test('what is wanted stands beside what became of it, with the reason where it is not in', async () => {
  await put(LIST);
  const cassettes = [
    info('far', 'admitted', { version: '2.0.0', isolation: 'remote' }),
    info('summaries', 'rejected'),
    info('other', 'admitted'),
  ];
  const { out, status } = await serving({ contract_version: 'v1', cassettes, problems: [problem] }, (address) =>
    list({ address }),
  );
  assert.is(status, 0);
  assert.equal(out.split('\n'), [
    'NAME       STATE     SINCE  VERSION  ISOLATION  SOURCE',
    'far        admitted  3 min  2.0.0    remote     https://acme.example/openapi?[redacted]',
    'late       -         -      -        process    ./late',
    '  the service that runs does not have it yet, or reads another list',
    'other      admitted  3 min  -        process    -',
    '  it is not on this list',
    'quiet      off       -      -        inline     ./quiet',
    'summaries  rejected  3 min  1.2.0    process    npm:@acme/summaries@1.2.0',
    '  Cannot start it: "api_key" is missing',
    '',
    `The list is ${join(cwd, '.svc/cassette.manifest.json')}`,
    '',
  ]);
});

test('without a service that runs it says so', async () => {
  await put(LIST);
  const { out, status } = await list();
  assert.is(status, 0);
  assert.match(out, /^summaries +- +- +1\.2\.0 +process/m);
  assert.match(out, 'svc is not running here, so what becomes of them is not known');
});

test('as JSON it is one document, without what is secret', async () => {
  await put(LIST);
  const { out } = await list({ json: true });
  const listing = JSON.parse(out) as { running: boolean; cassettes: { name: string; state: string | null }[] };
  assert.is(listing.running, false);
  assert.equal(
    listing.cassettes.map(({ name, state }) => [name, state]),
    [
      ['far', null],
      ['late', null],
      ['quiet', 'off'],
      ['summaries', null],
    ],
  );
  assert.not.match(out, 'hunter2');
});

test('a list with an error is told with its place and status 1, and what runs is shown all the same', async () => {
  await put('{"cassettes": [}');
  const body = { contract_version: 'v1', cassettes: [info('summaries', 'admitted')], problems: [] };
  const { out, status } = await serving(body, (address) => list({ address }));
  assert.is(status, 1);
  assert.match(out, /^Cannot use the list of cassettes '.*', line 1, column 16/);
  assert.match(out, /^summaries +admitted/m);
});

test('a service of another version is told from one that does not run', async () => {
  await put(LIST);
  const { out } = await serving({ cassettes: 1 }, (address) => list({ address }));
  assert.match(out, 'Cannot read the list of cassettes: the service is of another version');
});

test('where there is none it says how one comes in', async () => {
  await put({ cassettes: [] });
  assert.match((await list()).out, "There are no cassettes; 'svc cassette add' installs one");
});

test.run();
