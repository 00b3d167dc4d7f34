/** What memory does an unpacked slice hold: its own bytes, and nothing of the buffer that they were cut from. */
import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packSlice, unpackSlice } from '../../../core/capture/slice-codec.ts';

const test = suite('slices as they are stored');

const sentence = (bytes: number) => Buffer.from('What was said is said again. '.repeat(bytes).slice(0, bytes));

for (const bytes of [80, 5_000, 40_000])
  test(`a slice of ${bytes} bytes is unpacked to as many bytes of memory`, () => {
    const whole = sentence(bytes);
    const packed = packSlice(whole);
    assert.is(packed.codec, 1);
    const unpacked = unpackSlice(packed);
    assert.equal(Buffer.from(unpacked), whole);
    assert.is(unpacked.buffer.byteLength, bytes);
  });

for (const bytes of [65_520, 65_521])
  test(`compressing looks back over all of a slice of ${bytes} bytes`, () => {
    const hex = randomBytes(bytes / 2 + 1).toString('hex');
    const packedBytes = (end: string) => packSlice(Buffer.from(hex.slice(0, bytes - 400) + end)).bytes.byteLength;
    assert.ok(
      packedBytes(hex.slice(0, 400)) < packedBytes(hex.slice(-400)) - 150,
      'what stands at its beginning and its end',
    );
  });

test('one that is stored as it is does not hold what it was cut from', () => {
  const packet = new Uint8Array(8_192).fill(7);
  const unpacked = unpackSlice({ codec: 0, bytes: packet.subarray(100, 130) });
  assert.equal([...unpacked], Array(30).fill(7));
  assert.is(unpacked.buffer.byteLength, 30);
});

test('one with memory of its own is not copied', () => {
  const own = new Uint8Array(50);
  assert.is(unpackSlice({ codec: 0, bytes: own }), own);
});

test.run();
