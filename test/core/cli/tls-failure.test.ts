/** Commands over HTTPS: a certificate that is refused is named as the reason, with its code and what to do. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApiClient } from '../../../core/cli/api-client.ts';
import { openUi } from '../../../core/cli/open.ts';
import { reachReadApi } from '../../../core/cli/read-api.ts';
import { tlsFailure, tlsReason } from '../../../core/cli/tls-failure.ts';
import { loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';
import { cert, key } from '../../proxy/local-tls.ts';
import { emptyFolder, removeFolder, svc } from '../../support/serve.ts';

const test = suite('TLS of a service');
let cwd = '';
test.before(async () => {
  cwd = await emptyFolder();
});
test.after(() => removeFolder(cwd));

const loadedAt = (address: string) => loadConfig({ flags: { 'client.api_target': address }, env: {}, cwd, home: cwd });
const messageOf = async (work: Promise<unknown>): Promise<string> => {
  const thrown = await work.catch((error: unknown) => error);
  assert.instance(thrown, OperatorError);
  return (thrown as OperatorError).message;
};
async function during(server: Server, work: (address: string) => Promise<void>, host = '127.0.0.1'): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  try {
    await work(`https://${host}:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}
const pong = () =>
  createServer({ cert, key }, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('"pong"'),
  );

test('an authority that Node does not know: every command says how it is named', async () => {
  await during(pong(), async (address) => {
    const why =
      'its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): NODE_EXTRA_CA_CERTS=<file> names its authority';
    assert.is(await messageOf(openApiClient(loadedAt(address))), `Cannot use the service at ${address}: ${why}`);
    const io = { out: () => {}, env: {}, isTerminal: false };
    const opening = openUi(loadedAt(address), { print: true }, io);
    assert.is(await messageOf(opening), `Cannot open the web UI: at ${address}, ${why}`);
    const { state, remarks } = await reachReadApi(loadedAt(address));
    assert.equal([state, remarks], ['untrusted', [`The read API at ${address} cannot be used: ${why}`]]);
  });
});

test('with its authority named it is used, and a certificate for another host name is refused as such', async () => {
  const authority = join(cwd, 'authority.pem');
  writeFileSync(authority, cert);
  const sessions = (address: string) =>
    svc(cwd, ['sessions', '--client-api-target', address], { NODE_EXTRA_CA_CERTS: authority });
  await during(pong(), async (address) => {
    assert.not.match((await sessions(address)).err, /certificate/);
  });
  const other = '127.0.0.2'; // not in the certificate
  await during(
    pong(),
    async (address) => {
      const { err, status } = await sessions(address);
      assert.match(err, `Cannot use the service at ${address}: its certificate is for other host names (ERR_TLS_CERT_`);
      assert.is(status, 1);
    },
    other,
  );
});

test('a port without TLS', () =>
  during(
    createTcpServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    async (address) => {
      const message = await messageOf(openApiClient(loadedAt(address)));
      assert.match(message, /^Cannot use the service at https:.*: no TLS can be agreed on \(\w+\)$/);
    },
  ));

test('each reason has its code, and what is no failure of TLS has none', () => {
  const reason = (code: string) => tlsReason(tlsFailure('https:', code));
  assert.is(reason('CERT_HAS_EXPIRED'), 'its certificate has expired (CERT_HAS_EXPIRED)');
  assert.is(reason('CERT_NOT_YET_VALID'), 'its certificate is not valid yet (CERT_NOT_YET_VALID)');
  assert.is(reason('CERT_REVOKED'), 'its certificate is refused (CERT_REVOKED)');
  assert.match(
    reason('UNABLE_TO_VERIFY_LEAF_SIGNATURE') ?? '',
    /^its certificate is not trusted .*NODE_EXTRA_CA_CERTS/,
  );
  assert.is(reason('ECONNRESET'), null);
  assert.is(tlsFailure('http:', 'CERT_HAS_EXPIRED'), null);
  assert.is(tlsReason('broken'), null);
});

test.run();
