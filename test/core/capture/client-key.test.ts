import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clientDigest, clientKey, credentialOf, keyedDigest } from '../../../core/capture/client-key.ts';

const test = suite('clientKey');
const key = Buffer.from('0b'.repeat(32), 'hex');
const client = { credential: 'Bearer a', userAgent: 'agent/1', project: 'p' };

test('one client has one key, in hex, and it does not tell the credential', () => {
  assert.is(clientKey(key, client), clientKey(Uint8Array.from(key), { ...client }));
  assert.match(clientKey(key, client), /^[0-9a-f]{64}$/);
});

test('a known key: HMAC-SHA256 over each part with its length', () => {
  // printf '8:Bearer a7:agent/11:p' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0b…
  assert.is(clientKey(key, client), '33a3587daee32d9e60808bf34937bd5d35e7a2719aa72e37ee23100e28ea297b');
});

test('each part counts, and the installation; parts do not run into each other', () => {
  const keys = [
    clientKey(key, client),
    clientKey(key, { ...client, credential: 'Bearer b' }),
    clientKey(key, { ...client, userAgent: 'agent/2' }),
    clientKey(key, { ...client, project: '' }),
    clientKey(key, { credential: 'Bearer', userAgent: ' aagent/1', project: 'p' }),
    clientKey(Buffer.alloc(32), client),
  ];
  assert.is(new Set(keys).size, keys.length);
});

test('a known digest, of the same text without a key, and a known key of it', () => {
  // printf '8:Bearer a7:agent/11:p' | sha256sum; printf <that> | openssl dgst -sha256 -mac HMAC -macopt hexkey:0b…
  const digest = clientDigest(client);
  assert.is(digest, '7874b2aeb77bf6f61fa8c1b232c1b9f8fa8e99539ec9ae1f4a53ec1bbb826692');
  assert.is(keyedDigest(key, digest), '163aaaaa2e2476611f89c13bd3515f190710e0d55fb4202eccff1490edf9668d');
  assert.not.equal(keyedDigest(Buffer.alloc(32), digest), keyedDigest(key, digest));
});

test('the credential is whatever header carries it', () => {
  assert.is(credentialOf({ authorization: 'Bearer a', 'x-api-key': 'b' }), 'Bearer a');
  assert.is(credentialOf({ 'x-api-key': 'b' }), 'b');
  assert.is(credentialOf({ 'x-goog-api-key': 'c' }), 'c');
  assert.is(credentialOf({ authorization: '', 'api-key': 'd' }), 'd');
  assert.is(credentialOf({}), '');
  assert.is(credentialOf({}, '/v1beta/models/m:generateContent?alt=sse&key=e'), 'e');
  assert.is(credentialOf({ 'x-goog-api-key': 'c' }, '/v1beta/models/m:generateContent?key=e'), 'c');
  assert.is(credentialOf({}, '/v1beta/models/m:generateContent?monkey=e'), '');
});

test.run();
