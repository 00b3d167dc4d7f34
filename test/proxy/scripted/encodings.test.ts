import { brotliCompressSync, constants, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import { zstdStored } from '../../support/zstd-store.ts';
import { closeStands } from '../stand.ts';
import { keptWhatPassed, passesUnchanged } from './play.ts';
import { answers, asks, type Script, streams } from './script.ts';

const test = suite('scripted upstreams: encoded bodies');
test.after.each(closeStands);

const DOCUMENT = JSON.stringify({ id: 'msg_1', content: [{ type: 'text', text: 'caf\u00e9 '.repeat(200) }] });
const ACCEPTS = 'Accept-Encoding: gzip, deflate, br, zstd';
const encoded = (coding: string, bytes: Uint8Array): Script => [
  asks('{"model":"m"}', [ACCEPTS]),
  answers('200 OK', ['Content-Type: application/json', `Content-Encoding: ${coding}`, 'Vary: Accept-Encoding'], bytes),
];
const encodedRequest = (coding: string, bytes: Uint8Array): Script => [
  asks(bytes, [`Content-Encoding: ${coding}`]),
  answers('200 OK', ['Content-Type: application/json'], DOCUMENT),
];
/** As a server flushes after each event: each piece can be decoded when it comes. */
const flushed = async (...events: string[]): Promise<Buffer[]> => {
  const gzip = createGzip();
  const pieces: Buffer[] = [];
  for (const event of events) {
    gzip.write(event);
    await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    pieces.push((gzip.read() as Buffer | null) ?? Buffer.alloc(0));
  }
  const last = new Promise<Buffer>((resolve) => gzip.once('readable', () => resolve(gzip.read() as Buffer)));
  gzip.end();
  return [...pieces, await last];
};

const SCRIPTS: Record<string, Script> = {
  'a gzip answer': encoded('gzip', gzipSync(DOCUMENT)),
  'a gzip answer under its old name': encoded('x-gzip', gzipSync(DOCUMENT)),
  'a gzip answer of two members': encoded('gzip', Buffer.concat([gzipSync('{"a":'), gzipSync('1}')])),
  'a br answer': encoded('br', brotliCompressSync(DOCUMENT)),
  'a deflate answer': encoded('deflate', deflateSync(DOCUMENT)),
  'a deflate answer without its wrapping': encoded('deflate', deflateRawSync(DOCUMENT)),
  'a zstd answer': encoded('zstd', zstdStored(Buffer.from(DOCUMENT))),
  'an answer encoded twice': encoded('gzip, br', brotliCompressSync(gzipSync(DOCUMENT))),
  'an answer encoded twice, told in two headers': [
    asks('{}', [ACCEPTS]),
    answers('200 OK', ['Content-Encoding: deflate', 'content-encoding: gzip'], gzipSync(deflateSync(DOCUMENT))),
  ],
  'an answer that is not encoded as it says': encoded('gzip', Buffer.from(DOCUMENT)),
  'an answer in an encoding that nobody knows': encoded('aws-chunked', Buffer.from(DOCUMENT)),
  'an answer that says it is not encoded': encoded('identity', Buffer.from(DOCUMENT)),
  'an encoded answer that is empty': encoded('gzip', Buffer.alloc(0)),
  'a gzip event stream that is flushed with each event': [
    asks('{"stream":true}', [ACCEPTS]),
    ...streams(
      ['Content-Type: text/event-stream', 'Content-Encoding: gzip'],
      ...(await flushed('event: a\ndata: 1\n\n', 'data: 2\n\n', ': still here\n\n')),
    ),
  ],
  'a zstd request': encodedRequest('zstd', zstdStored(Buffer.from('{"model":"m"}'))),
  'a gzip request': encodedRequest('gzip', gzipSync('{"model":"m"}')),
  'a request encoded twice': encodedRequest('br, gzip', gzipSync(brotliCompressSync('{"model":"m"}'))),
};

for (const [what, script] of Object.entries(SCRIPTS)) {
  test(`${what} keeps its bytes, on the wire and in the journal`, async () =>
    keptWhatPassed(await passesUnchanged(script)));
}

test.run();
