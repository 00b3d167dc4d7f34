/** Nothing waits for a cassette without end: not the one who lets it in, and not a service that is asked to stop meanwhile. */
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdmissionTimeouts } from '../../../../core/cassette/admission/admission.ts';
import { type CassetteHost, openHost } from '../../../../core/cassette/host.ts';
import { ListEntry } from '../../../../core/cassette/list/list.ts';
import { openLog } from '../../../../core/log.ts';
import { cassetteFolder, type Made, removeCassetteFolder } from '../../../support/cassette-folder.ts';
import { eventually } from '../../../support/eventually.ts';
import { everySourceTried } from '../../../support/every-source-tried.ts';
import { processesOf } from '../../../support/started-cassette.ts';

const test = suite('waiting for a cassette');
const alive = setInterval(() => {}, 1_000); // a deadline alone keeps no process up
const folders: string[] = [];
test.after(async () => {
  clearInterval(alive);
  await Promise.all(folders.map(removeCassetteFolder));
});

const HOUR = 3_600_000;
const ENDLESS: AdmissionTimeouts = { loadMs: HOUR, documentMs: HOUR, health: { tries: 2, eachMs: HOUR, betweenMs: 1 } };
const SHORT: AdmissionTimeouts = { loadMs: 10_000, documentMs: 100, health: { tries: 2, eachMs: 100, betweenMs: 1 } };

const folderOf = async (made: Made): Promise<string> => {
  const folder = await cassetteFolder(made);
  folders.push(folder);
  return folder;
};
async function tried(source: string, isolation: string, timeouts: AdmissionTimeouts): Promise<CassetteHost> {
  const tmp = await mkdtemp(join(tmpdir(), 'svc-waiting-'));
  folders.push(tmp);
  const host = openHost({
    ...{ installed: '/nowhere', databases: null, core: null, environment: {}, tmp, log: openLog('silent'), timeouts },
    now: Date.now,
    retryMs: { first: HOUR, most: HOUR },
  });
  const entries = [ListEntry.parse({ name: 'notes', source, isolation })];
  void host.apply({ entries, loaded_at: '', problem: null, folderOf: () => '/' });
  return host;
}
/** An hour of patience is no reason for a stop to wait. */
const closed = (host: CassetteHost) => {
  let late: NodeJS.Timeout | undefined;
  const never = new Promise<never>((_, reject) => {
    late = setTimeout(reject, 30_000, new Error('it still waits'));
  });
  return Promise.race([host.close(0), never]).finally(() => clearTimeout(late));
};

const NEVER = 'await new Promise(() => {});';
const HANGS: [what: string, made: Made][] = [
  ['loads', { top: `await new Promise((resolve) => setTimeout(resolve, ${HOUR}));` }],
  ['loops while it loads', { top: 'for (;;);' }],
  ['has not handed out its document', { before: `if (path === '/openapi') ${NEVER}` }],
];
for (const [what, made] of HANGS)
  test(`a process that ${what} is ended as soon as nobody wants it`, async () => {
    const folder = await folderOf(made);
    const host = await tried(folder, 'process', ENDLESS);
    await eventually(() => processesOf(folder) > 0);
    await closed(host);
    assert.is(processesOf(folder), 0);
  });

test('an address that has not handed out its document is left as soon as nobody wants it', async () => {
  let left = false;
  let requested = false;
  const server = createServer((_, answer) => {
    requested = true;
    answer.on('close', () => {
      left = true;
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const host = await tried(`http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi`, 'remote', ENDLESS);
  await eventually(() => requested);
  await closed(host);
  await eventually(() => left);
  await new Promise((done) => server.close(done));
});

const LATE: [what: string, before: string, step: string, says: RegExp][] = [
  ['never answers', `if (path === '/openapi') ${NEVER}`, 'openapi', /at \/openapi: it took longer than 0\.1 s/],
  [
    'begins an answer and never ends it',
    "if (path === '/openapi') return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); } }));",
    'openapi',
    /at \/openapi: it took longer than 0\.1 s/,
  ],
  ['never says whether it is well', `if (path === '/ping') ${NEVER}`, 'health', /no answer within 0\.1 s/],
];
for (const [what, before, step, says] of LATE)
  test(`one in the service itself that ${what} is refused when its time is over`, async () => {
    const host = await tried(await folderOf({ before }), 'inline', SHORT);
    await everySourceTried(host);
    const [one] = host.installed();
    assert.equal([one?.state, one?.trouble?.step], ['rejected', step]);
    assert.match(one?.trouble?.reason ?? '', says);
    await closed(host);
  });

test.run();
