/** The stand-in of a service that is down: it answers 503 at once, and what comes after its end waits for the service. */

import { createServer, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApiClient } from '../../../../core/cli/api-client.ts';
import { reachReadApi } from '../../../../core/cli/read-api.ts';
import { holdAddress } from '../../../../core/cli/serve/held-addresses.ts';
import { startStandIn } from '../../../../core/cli/serve/stand-in.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { eventually } from '../../../support/eventually.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

const test = suite('stand-in of the service');
const WHY = 'the service is down: ended by SIGKILL';

const standInAt = (fds: readonly number[], isIngest = false) =>
  startStandIn({
    ...{ why: WHY, until: Date.now() + 42_000, env: { PATH: process.env.PATH } },
    execArgv: ['--import', import.meta.resolve('tsx')],
    sockets: fds.map((fd) => ({ fd, isIngest })),
  });
const requested = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => get(url, { agent: false, timeout: 20_000 }, resolve).on('error', reject));

/** The service had listened before it went down; here nobody has. */
const answers = (url = '') =>
  eventually(() =>
    requested(url).then(
      (reply) => reply.resume().statusCode === 503,
      () => false,
    ),
  );

test('503 with Retry-After and the reason, in the envelope of each listener', async () => {
  const [api, ingest] = [await holdAddress('127.0.0.1:0', 'api'), await holdAddress('127.0.0.1:0', 'ingest')];
  const standIns = [standInAt(api.fds), standInAt(ingest.fds, true)];
  try {
    await Promise.all([answers(api.urls[0]), answers(ingest.urls[0])]);
    const problem = await fetch(`${api.urls[0]}/v1/sessions`, { method: 'POST', body: 'x'.repeat(5_000_000) });
    assert.is(problem.status, 503);
    assert.is(problem.headers.get('content-type'), 'application/problem+json');
    assert.ok(Number(problem.headers.get('retry-after')) > 20);
    const { code, error } = (await problem.json()) as { code: string; error: string };
    assert.is(code, 'service-down');
    assert.match(error, /^Cannot answer: the service is down: ended by SIGKILL; it is tried again in \d\d s$/);
    const rejected = await fetch(`${ingest.urls[0]}/v1/ingest`, { method: 'POST', body: '{}' });
    assert.equal(Object.keys((await rejected.json()) as object), ['error']);
  } finally {
    for (const standIn of standIns) await standIn.end();
    for (const held of [api, ingest]) held.release();
  }
});

test('commands say that the service is down, and no other program', async () => {
  const held = await holdAddress('127.0.0.1:0', 'api');
  const standIn = standInAt(held.fds);
  const cwd = await emptyFolder();
  const loaded = loadConfig({ flags: { 'client.api_target': held.urls[0] ?? '' }, env: {}, cwd, home: cwd });
  try {
    await answers(held.urls[0]);
    const refused = await openApiClient(loaded).catch((error: Error) => error.message);
    assert.match(String(refused), `Cannot use the service at ${held.urls[0]}: ${WHY}; it is tried again in `);
    assert.is((await reachReadApi(loaded)).state, 'unserved');
  } finally {
    await standIn.end();
    held.release();
    await removeFolder(cwd);
  }
});

test('no request of those that come during the exchange is refused or lost', async () => {
  const held = await holdAddress('127.0.0.1:0', 'api');
  const standIn = standInAt(held.fds);
  const url = held.urls[0] ?? '';
  await answers(url);
  let over = false;
  const statuses: Promise<number | undefined>[] = [];
  const client = (async () => {
    for (; !over; await sleep(2))
      statuses.push(requested(url).then((reply) => text(reply).then(() => reply.statusCode)));
  })();
  await sleep(50);
  await standIn.end();
  const waiting = requested(url);
  await sleep(50);
  const service = createServer((_, response) => response.end('up'));
  await new Promise<void>((resolve) => service.listen({ fd: held.fds[0] }, resolve));
  assert.is(await text(await waiting), 'up');
  await sleep(50);
  over = true;
  await client;
  const seen = await Promise.all(statuses);
  assert.equal([...new Set(seen)].sort(), [200, 503]);
  service.close();
});

test.run();
