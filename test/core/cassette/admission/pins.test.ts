/** What runs is what was admitted: at every start of its process, to the last file that it may read, with what it asked for and no more. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '../../../../core/cassette/admission/digest.ts';
import { type CassetteHost, openHost } from '../../../../core/cassette/host.ts';
import type { Installed } from '../../../../core/cassette/installed.ts';
import { findSystemSupport } from '../../../../core/cassette/isolation/confinement.ts';
import { ListEntry } from '../../../../core/cassette/list/list.ts';
import { openLog } from '../../../../core/log.ts';
import { cassetteFolder, type Made } from '../../../support/cassette-folder.ts';
import { eventually } from '../../../support/eventually.ts';
import { everySourceTried } from '../../../support/every-source-tried.ts';

const test = suite('pins');
const hosts: CassetteHost[] = [];
const folders: string[] = [];
let tmp = '';
test.before(async () => {
  tmp = await mkdtemp(join(tmpdir(), 'svc-pins-'));
});
test.after(async () => {
  await Promise.all(hosts.map((one) => one.close(0)));
  for (const folder of [...folders, tmp]) await rm(folder, { recursive: true, force: true });
});

const LEAVES = "if (path === '/api/notes/leave') setTimeout(() => process.exit(0), 20);";
const made = async (cassette: Made): Promise<string> => {
  const folder = await cassetteFolder({ before: LEAVES, ...cassette });
  folders.push(folder);
  return folder;
};

/** In a process of its own. */
async function admitted(source: string, more: object = {}) {
  const host = openHost({
    ...{ installed: tmp, databases: null, core: null, environment: {}, tmp, log: openLog('silent'), now: Date.now },
    ...{ retryMs: { first: 50, most: 100 }, refreshMs: 50 },
  });
  hosts.push(host);
  const entries = [ListEntry.parse({ name: 'notes', source, ...more })];
  void host.apply({ entries, loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: () => '/' });
  await everySourceTried(host);
  const shown = () => host.installed()[0] as Installed;
  const ask = (path: string) =>
    host.answer('notes', {
      request: new Request(`http://localhost/v1/cassettes/notes${path}`),
      caller: null,
      requestId: '0195f6d0-0000-7000-8000-000000000000',
      peer: null,
    });
  return { host, shown, ask };
}
const hello = async (ask: (path: string) => Promise<Response>): Promise<string> =>
  ((await (await ask('/hello')).json()) as { hello: string }).hello;
const edit = async (folder: string, from: string, to: string) => {
  const path = join(folder, 'cassette.js');
  const text = await readFile(path, 'utf8');
  assert.ok(text.includes(from));
  await writeFile(path, text.replaceAll(from, to));
};

test('a pinned cassette that ended itself and whose code has changed is not started again, and the state says why', async () => {
  const folder = await made({});
  const digest = await digestOf(folder);
  const { shown, ask } = await admitted(folder, { digest });
  assert.is(shown().state, 'admitted', shown().trouble?.reason);
  await edit(folder, "'world'", "'other'");
  await ask('/leave').catch(() => {});
  await eventually(() => shown().state === 'rejected');
  assert.is(shown().trouble?.step, 'digest');
  assert.match(shown().trouble?.reason ?? '', `pinned ${digest}, found ${await digestOf(folder)}`);
  const answered = await hello(ask).catch(String);
  assert.match(answered, 'Cannot answer');
  await edit(folder, "'other'", "'world'");
  await eventually(() => shown().state === 'admitted');
  assert.is(await hello(ask), 'world');
});

test('one without a pin is admitted anew when its code has changed, with the digest of what runs', async () => {
  const folder = await made({});
  const { shown, ask } = await admitted(folder);
  const before = shown().source_digest;
  await edit(folder, "'world'", "'other'");
  await ask('/leave').catch(() => {});
  await eventually(() => shown().state === 'admitted' && shown().source_digest !== before);
  assert.is(shown().source_digest, await digestOf(folder));
  assert.is(await hello(ask), 'other');
});

test('code that changes between the look at the digest and the load is not handed anything', async () => {
  const folder = await made({ top: 'await new Promise((done) => setTimeout(done, 1_000));' });
  const digest = await digestOf(folder);
  const late = setTimeout(() => void writeFile(join(folder, 'late.js'), ''), 500);
  const { shown } = await admitted(folder, { digest });
  clearTimeout(late);
  assert.is(shown().state, 'rejected');
  assert.is(shown().trouble?.step, 'digest');
});

test('what lies in .git is pinned as well: it could be imported', async () => {
  const folder = await made({ top: "import { said } from './.git/hidden.js'; globalThis.said = said;" });
  await mkdir(join(folder, '.git'));
  await writeFile(join(folder, '.git/hidden.js'), "export const said = 'one';");
  const digest = await digestOf(folder);
  await writeFile(join(folder, '.git/hidden.js'), "export const said = 'two';");
  assert.is.not(await digestOf(folder), digest);
  const { shown } = await admitted(folder, { digest });
  assert.is(shown().trouble?.step, 'digest');
  assert.match(shown().trouble?.reason ?? '', "its '.git' counts too");
});

const CONNECTS = `
import { connect } from 'node:net';
const connected = (port) => new Promise((done) => {
  const socket = connect(Number(port), '127.0.0.1');
  socket.once('connect', () => { socket.destroy(); done('connected'); }).once('error', (error) => done(error.code));
});
`;

for (const [asks, grants, given] of [
  [true, ['network'], true],
  [false, ['network'], false],
] as const)
  test(`a network that was granted and ${asks ? 'is' : 'is not'} asked for is ${given ? 'given' : 'not given'}`, async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    const { port } = server.address() as AddressInfo;
    const folder = await made({
      top: `${CONNECTS}\nconst atLoad = await connected(${port});`,
      before: `if (path === '/api/notes/hello') return json({ hello: atLoad + ' ' + await connected(${port}) });`,
      manifest: { bindings: { network: asks } },
    });
    const { shown, ask } = await admitted(folder, { grants: { bindings: grants } });
    assert.is(shown().state, 'admitted', shown().trouble?.reason);
    const answered = await hello(ask);
    server.close();
    const { wall } = await findSystemSupport(tmp);
    if (given || (wall !== 'jail' && wall !== 'namespaces')) assert.is(answered, 'connected connected');
    else assert.not.match(answered, 'connected');
    assert.is(shown().confinement?.level, wall === 'jail' && !given ? 'full' : 'partial');
  });

test('without a grant, a network that is asked for keeps it out', async () => {
  const { shown } = await admitted(await made({ manifest: { bindings: { network: true } } }));
  assert.is(shown().trouble?.step, 'grants');
});

test.run();
