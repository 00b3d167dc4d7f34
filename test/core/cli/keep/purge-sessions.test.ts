/** A purge of many sessions whose service ends midway: what is gone already is said. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApiClient } from '../../../../core/cli/api-client.ts';
import { purgeSessions } from '../../../../core/cli/keep/purge-sessions.ts';
import { openProgress } from '../../../../core/cli/progress.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

const test = suite('purgeSessions');

/** The message of a purge by a service that ends at the request after `most`. */
async function messageOf(ids: readonly string[], most: number): Promise<string> {
  const cwd = await emptyFolder();
  let purged = 0;
  const server = createServer((request, response) => {
    if (request.url !== '/ping' && ++purged > most) return void request.socket.resetAndDestroy();
    response.setHeader('content-type', 'application/json').end(request.url === '/ping' ? '"pong"' : '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = await openApiClient(loadConfig({ flags: { 'client.api_target': target }, env: {}, cwd, home: cwd }));
    const options = { reason: 'test', progress: openProgress(null) };
    const thrown = await purgeSessions(client, ids, options).catch((error: unknown) => error);
    assert.instance(thrown, OperatorError);
    return (thrown as OperatorError).message;
  } finally {
    server.closeAllConnections();
    server.close();
    await removeFolder(cwd);
  }
}

test('how many of how many are purged already', async () => {
  const ids = ['a', 'b', 'c'];
  const ended = (id: string) =>
    `Cannot purge session '${id}': the connection was cut before the answer came; its service may have ended`;
  assert.is(await messageOf(ids, 2), `${ended('c')}; 2 of 3 sessions are purged already`);
  assert.is(await messageOf(ids, 1), `${ended('b')}; 1 of 3 sessions is purged already`);
  assert.is(await messageOf(ids, 0), `${ended('a')}; 0 of 3 sessions are purged already`);
  assert.is(await messageOf(['a'], 0), ended('a'));
});

test.run();
