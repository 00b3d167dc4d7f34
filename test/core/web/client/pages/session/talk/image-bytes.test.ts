import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { base64Bytes, imageFacts } from '../../../../../../../core/web/client/pages/session/talk/image-bytes.ts';

const test = suite('imageBytes');

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part, 'latin1')] : part)));
const pad = (count: number) => Array.from({ length: count }, () => 0);
const png = (width: number[], height: number[]) =>
  bytes([0x89], 'PNG\r\n', [0x1a, 0x0a], [0, 0, 0, 13], 'IHDR', width, height, pad(5));

test('the kind and the size are read from the bytes', () => {
  assert.equal(imageFacts(png([0, 0, 4, 216], [0, 0, 3, 32])), { type: 'image/png', width: 1240, height: 800 });
  assert.equal(imageFacts(bytes('GIF89a', [10, 0, 5, 0])), { type: 'image/gif', width: 10, height: 5 });
  const jpeg = bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc0, 0, 17, 8, 0, 30, 0, 40], pad(10));
  assert.equal(imageFacts(jpeg), { type: 'image/jpeg', width: 40, height: 30 });
  const webp = bytes('RIFF', pad(4), 'WEBP', 'VP8X', pad(8), [99, 0, 0], [49, 0, 0]);
  assert.equal(imageFacts(webp), { type: 'image/webp', width: 100, height: 50 });
});

test('what is no such image, or a bomb, is refused', () => {
  assert.is(imageFacts(bytes('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')), 'no image that is shown');
  assert.is(imageFacts(bytes()), 'no image that is shown');
  assert.is(imageFacts(png([0, 1, 0, 0], [0, 1, 0, 0])), 'too many pixels');
  assert.is(imageFacts(png([0, 0, 0, 0], [0, 0, 0, 1])), 'damaged');
  assert.is(imageFacts(bytes([0xff, 0xd8, 0xff])), 'damaged');
  assert.is(imageFacts(new Uint8Array(33 * 1024 * 1024)), 'too many bytes');
});

test('text that is no base64 gives no bytes', () => {
  assert.is(base64Bytes('€'), null);
  assert.equal(base64Bytes('AAE='), Uint8Array.of(0, 1));
});

test.run();
