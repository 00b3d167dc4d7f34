/** Records of a transcript are stored many to a slice, cut between two of them, and a file that grows shares its long slices. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cutRecords, type Piece } from '../../../core/capture/slices.ts';
import { sliceTranscript } from '../../../core/capture/transcript-slices.ts';

const LONG = 65_536;
const SHORT = 8_192;

const uploadOf = (sizes: readonly number[]) =>
  Buffer.from(JSON.stringify({ session: {}, records: sizes.map((size) => 'x'.repeat(size)) }));
const sizeOf = ({ start, end }: Piece) => end - start;
const recordSlices = (body: Buffer) => sliceTranscript(body).filter(({ section }) => section === 'records');

const test = suite('transcript slices');

test('long slices come first, then short ones, then the rest', () => {
  const sizes = recordSlices(uploadOf(Array.from({ length: 145 }, () => 1_000))).map(sizeOf);
  assert.equal(
    sizes.map((size) => (size >= LONG ? 'long' : size >= SHORT ? 'short' : 'rest')),
    ['long', 'long', 'short', 'rest'],
  );
  assert.ok(sizes.every((size) => size < LONG + 1_003));
});

test('a record longer than a slice ends the slice that it is in', () => {
  assert.equal(
    recordSlices(uploadOf([10, 100_000, 10])).map((slice) => Math.round(sizeOf(slice) / 1_000)),
    [100, 0],
  );
});

test('slices join to the body and are cut between records, whatever their sizes', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40_000), { maxLength: 30 }), (sizes) => {
      const body = uploadOf(sizes);
      const slices = sliceTranscript(body);
      assert.equal(Buffer.concat(slices.map(({ start, end }) => body.subarray(start, end))), body);
      const ends = new Set(cutRecords(body).map(({ end }) => end));
      assert.ok(slices.every(({ end }) => ends.has(end)));
    }),
  );
});

test('a file that has grown shares all slices but those after its last long one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20_000), { maxLength: 60 }),
      fc.array(fc.nat(20_000), { maxLength: 5 }),
      (sizes, more) => {
        const before = recordSlices(uploadOf(sizes)).filter((slice) => sizeOf(slice) >= LONG);
        assert.equal(recordSlices(uploadOf([...sizes, ...more])).slice(0, before.length), before);
      },
    ),
  );
});

test('what cannot be cut is one piece', () => {
  for (const text of ['{"records":[1', '[]', '{"records":{}}'])
    assert.equal(sliceTranscript(Buffer.from(text)), cutRecords(Buffer.from(text)));
});

test.run();
