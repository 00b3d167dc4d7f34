/** The text of a remote cassette's document: what its server puts around the JSON is taken, or named. */
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseManifest } from '../../../../core/cassette/admission/manifest.ts';
import { startRemote } from '../../../../core/cassette/isolation/remote.ts';
import { readDocument } from '../../../../core/cassette/openapi/document.ts';
import { documentText } from '../../../../core/cassette/openapi/document-text.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { documentWith, goodManifest } from '../../../support/cassette-document.ts';

const test = suite('documentText');

async function textFrom(body: string | Buffer, headers: OutgoingHttpHeaders = {}): Promise<string> {
  const server = createServer((_, response) => response.writeHead(200, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi`);
  const remote = startRemote({ address, name: 'notes' });
  try {
    return await documentText(remote, '/openapi');
  } finally {
    await remote.close(0);
    server.closeAllConnections();
    server.close();
  }
}
const rejectionOf = async (work: Promise<string>): Promise<string> => {
  const thrown = await work.catch((error: unknown) => error);
  assert.instance(thrown, Rejection);
  return (thrown as Rejection).message;
};

test('a byte order mark before the JSON changes nothing', async () => {
  const text = await textFrom(`\uFEFF${documentWith()}`);
  const { manifest } = await readDocument(text, { name: 'my-notes', isolation: 'remote' });
  assert.equal(manifest, parseManifest(goodManifest()));
});

test('an encoding that was not requested is named', async () => {
  const zipped = gzipSync(documentWith());
  const named = `Cannot read its OpenAPI document at /openapi: it came with content-encoding 'gzip', which was not requested`;
  assert.is(await rejectionOf(textFrom(zipped, { 'content-encoding': 'GZip' })), named);
  assert.not.match(await rejectionOf(textFrom(zipped, { 'content-encoding': 'x'.repeat(99) })), 'xx');
  for (const encoding of ['identity', 'gzip']) // what says that it is compressed, and is not, can be read
    assert.is(await textFrom('{}', { 'content-encoding': encoding }), '{}');
});

test.run();
