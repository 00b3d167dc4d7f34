/** A body can be put together again from its recipe alone, and what a page lists stays a page while the rest grows. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeRecipe, readRecipe } from '../../../core/capture/recipe.ts';
import { packedElsewhere, packedSlice, packSlice, sliceId, unpackSlice } from '../../../core/capture/slice-codec.ts';
import { type Section, sliceBody } from '../../../core/capture/slices.ts';

const test = suite('recipe');

/** Keeps a body as the database does, and gives it back out of what was kept. */
async function keptAndReadAgain(body: Buffer): Promise<Buffer> {
  const slices = new Map<string, { codec: 0 | 1; bytes: Uint8Array }>();
  const pieces = sliceBody(body).map(({ section, start, end }) => {
    const bytes = body.subarray(start, end);
    slices.set(sliceId(bytes), packSlice(bytes));
    return { section, slice_id: sliceId(bytes) };
  });
  const { pages, roots, depth } = makeRecipe(pieces);
  for (const { slice_id, bytes } of pages) slices.set(slice_id, packSlice(bytes));
  const fetched = (ids: readonly string[]) =>
    ids.map((id) => {
      const slice = slices.get(id);
      assert.ok(slice);
      return unpackSlice(slice);
    });
  return Buffer.concat(fetched(await readRecipe({ roots, depth }, async (ids) => fetched(ids))));
}

test('any body comes back byte for byte', async () => {
  const conversation = fc
    .record({
      messages: fc.array(fc.jsonValue(), { maxLength: 200 }),
      tools: fc.array(fc.string()),
      system: fc.jsonValue(),
    })
    .map((body) => Buffer.from(JSON.stringify(body)));
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array().map(Buffer.from), conversation), async (body) => {
      assert.equal(await keptAndReadAgain(body), Buffer.from(body));
    }),
  );
});

test('bodies of very many elements need pages of pages', async () => {
  for (const count of [16, 17, 64, 65, 5_000, 40_000]) {
    const body = Buffer.from(JSON.stringify({ input: Array.from({ length: count }, (_, i) => i) }));
    assert.equal(await keptAndReadAgain(body), body);
  }
  const many = Array.from({ length: 40_000 }, (_, i) => ({
    section: 'input' as const,
    slice_id: sliceId(Buffer.from(`${i}`)),
  }));
  const { roots, depth } = makeRecipe(many);
  assert.is(depth, 2);
  assert.ok(roots.length <= 64);
});

const section = (name: Section | null, count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ section: name, slice_id: sliceId(Buffer.from(`${name} ${from + i}`)) }));

test('one more message rewrites one small page', () => {
  const body = (messages: number) => [
    ...section(null, 1),
    ...section('messages', messages),
    ...section(null, 1, 1),
    ...section('tools', 28),
  ];
  const pagesOf = (messages: number) => new Set(makeRecipe(body(messages)).pages.map(({ slice_id }) => slice_id));
  let rewritten = 0;
  for (let messages = 40; messages < 400; messages += 2) {
    const before = pagesOf(messages);
    const fresh = makeRecipe(body(messages + 2)).pages.filter(({ slice_id }) => !before.has(slice_id));
    rewritten += fresh.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    assert.ok(fresh.every(({ bytes }) => bytes.byteLength <= 64 * 32));
  }
  assert.ok(rewritten / 180 < 400, `${rewritten / 180} bytes a turn`);
});

test('a page of tools stays the same whatever the messages are', () => {
  const tools = section('tools', 28);
  const of = (messages: number) => makeRecipe([...section('messages', messages), ...tools]).roots.slice(-4);
  assert.equal(of(3), of(99));
});

test('packing loses nothing and never grows', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 5_000 }),
        fc.lorem({ maxCount: 200 }).map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const packed = packSlice(bytes);
        assert.ok(packed.bytes.byteLength <= bytes.byteLength);
        assert.equal(Buffer.from(unpackSlice(packed)), Buffer.from(bytes));
      },
    ),
  );
  assert.is(packSlice(Buffer.alloc(63)).codec, 0);
  assert.is(packSlice(Buffer.alloc(1_000)).codec, 1);
  assert.is(packSlice(Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(1_000)])).codec, 0);
});

test('a slice that is packed on another thread is packed the same', async () => {
  for (const bytes of [
    Buffer.from('word '.repeat(10_000)),
    Buffer.from('short'),
    randomBytes(20_000),
    Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(20_000)]),
  ])
    assert.equal(await packedElsewhere('id', bytes), packedSlice('id', bytes));
});

test('a slice that is packed in little time loses nothing either, and is somewhat larger', async () => {
  const bytes = Buffer.from(JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, word: `word ${n % 37}` }))));
  const fast = await packedElsewhere('id', bytes, 'fast');
  assert.equal(Buffer.from(unpackSlice(fast)), bytes);
  assert.ok(fast.bytes.byteLength > packedSlice('id', bytes).bytes.byteLength);
  assert.ok(fast.bytes.byteLength < bytes.byteLength / 3);
});

test.run();
