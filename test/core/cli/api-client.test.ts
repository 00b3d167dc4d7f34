/** What commands say of a service that is read through a gateway, when it is the gateway that responds. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { svcIn } from '../../support/run-program.ts';
import { emptyFolder, removeFolder } from '../../support/serve.ts';

const test = suite('a service behind a gateway');

/** `svc stats`, of which the gateway passes on no more than whether the service is there. */
async function stats(gateway: RequestListener) {
  const home = await emptyFolder();
  const server = createServer((request, response) =>
    request.url === '/ping' ? void response.end('"pong"') : gateway(request, response),
  );
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    return { address, ...(await svcIn({ cwd: home, home, env: { SVC_CLIENT_API_TARGET: address } }, 'stats')) };
  } finally {
    server.closeAllConnections();
    server.close();
    await removeFolder(home);
  }
}

test('its error page is named by its status', async () => {
  const { status, err } = await stats((_, response) => void response.writeHead(502).end('<html>Bad Gateway</html>'));
  assert.equal([status, err], [1, 'Cannot read the statistics: the service answers with 502\n']);
});

test('its empty error is too', async () => {
  const { status, err } = await stats((_, response) => void response.writeHead(504).end());
  assert.equal([status, err], [1, 'Cannot read the statistics: the service answers with 504\n']);
});

test('a page in place of the JSON is no answer of the service', async () => {
  const { address, status, err } = await stats((_, response) => void response.end('<html>Log in</html>'));
  assert.equal([status, err], [1, `Cannot read the statistics: what ${address} responds is no JSON; is svc there?\n`]);
});

test.run();
