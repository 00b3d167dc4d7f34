import zlib from 'node:zlib';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeBodySync, Undecodable } from '../../../core/capture/content-encoding.ts';
import { fixtureCases, fixtureFolder } from '../../support/fixtures.ts';
import { blockHeader, zstdStored } from '../../support/zstd-store.ts';

const test = suite('decodeBody');

/** A refusal as a rejection. */
const decodeBody = async (...body: Parameters<typeof decodeBodySync>) => decodeBodySync(...body);

type Recipe = {
  plaintext: {
    utf8?: string;
    repeat_utf8?: { text: string; count: number };
    repeat_byte?: { byte: number; count: number };
  };
  layers: string[];
  members?: number;
  truncate?: { drop_tail_bytes?: number; keep_head_bytes?: number; keep_head_ratio?: [number, number] };
};
type Case = {
  encoding: string | null;
  body: { bytes_b64?: string; build?: Recipe };
  expect: {
    outcome: 'decoded' | 'salvaged' | 'error';
    decoded?: { equals_plaintext?: boolean; bytes_b64?: string; nonempty_prefix_of_plaintext?: boolean };
    error?: { class: Undecodable['kind']; message_contains?: string[] };
  };
};

/** Where we part from the cases on purpose: `br` has a decoder here, so a body that is no brotli is broken, not unsupported. */
const otherwise: Record<string, { class: Undecodable['kind']; message_contains: string[] }> = {
  'error-unsupported-encoding.json': { class: 'undecodable', message_contains: ['br'] },
};

const encoders: Record<string, (bytes: Uint8Array) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  zstd: (bytes) => zstdStored(bytes),
};

function plaintextOf({ plaintext }: Recipe): Buffer {
  if (plaintext.utf8 !== undefined) return Buffer.from(plaintext.utf8);
  if (plaintext.repeat_utf8) return Buffer.from(plaintext.repeat_utf8.text.repeat(plaintext.repeat_utf8.count));
  return Buffer.alloc(plaintext.repeat_byte?.count ?? 0, plaintext.repeat_byte?.byte ?? 0);
}

function built(recipe: Recipe): Buffer {
  let bytes = plaintextOf(recipe);
  const members = recipe.members ?? 1;
  for (const layer of recipe.layers) {
    const size = Math.ceil(bytes.length / members);
    const chunks = Array.from({ length: members }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
    bytes = Buffer.concat(chunks.map((chunk) => (encoders[layer] as (bytes: Uint8Array) => Buffer)(chunk)));
  }
  const { drop_tail_bytes, keep_head_bytes, keep_head_ratio } = recipe.truncate ?? {};
  if (drop_tail_bytes !== undefined) return bytes.subarray(0, bytes.length - drop_tail_bytes);
  if (keep_head_bytes !== undefined) return bytes.subarray(0, keep_head_bytes);
  if (keep_head_ratio) return bytes.subarray(0, Math.floor((bytes.length * keep_head_ratio[0]) / keep_head_ratio[1]));
  return bytes;
}

const same = (actual: Uint8Array, expected: Uint8Array, what: string) =>
  assert.is(Buffer.compare(actual, expected), 0, `${what}: ${actual.length} bytes, expected ${expected.length}`);

async function refusal(decoding: Promise<unknown>): Promise<Undecodable> {
  try {
    await decoding;
  } catch (error) {
    assert.instance(error, Undecodable);
    return error as Undecodable;
  }
  return assert.unreachable('nothing was refused') as never;
}

const folder = fixtureFolder('content-encoding');
const { cases } = folder ? fixtureCases<Case>(folder) : { cases: [] };
if (folder) test('there are all 27 cases', () => assert.is(cases.length, 27));

for (const [name, { encoding, body, expect }] of cases) {
  test(name.replace('.json', ''), async () => {
    const bytes = body.build ? built(body.build) : Buffer.from(body.bytes_b64 ?? '', 'base64');
    const before = Buffer.from(bytes);
    const decoding = decodeBody(bytes, encoding);
    if (expect.outcome === 'error') {
      const expected = otherwise[name] ?? expect.error;
      const error = await refusal(decoding);
      assert.is(error.kind, expected?.class);
      for (const part of expected?.message_contains ?? []) assert.match(error.message, part);
    } else {
      const decoded = await decoding;
      assert.is(decoded.salvaged, expect.outcome === 'salvaged');
      const plaintext = body.build ? plaintextOf(body.build) : Buffer.from(expect.decoded?.bytes_b64 ?? '', 'base64');
      if (expect.decoded?.nonempty_prefix_of_plaintext) {
        assert.ok(decoded.bytes.length > 0);
        same(decoded.bytes, plaintext.subarray(0, decoded.bytes.length), name);
      } else same(decoded.bytes, plaintext, name);
    }
    same(bytes, before, 'the bytes that were passed in'); // they are kept as they came
  });
}

const words = 'the quick brown fox jumps over the lazy dog and says it again, '.repeat(400);

test('br and deflate decode, the latter with and without its frame', () => {
  same(decodeBodySync(zlib.brotliCompressSync(words), 'br').bytes, Buffer.from(words), 'br');
  same(decodeBodySync(zlib.deflateSync(words), 'deflate').bytes, Buffer.from(words), 'deflate');
  same(decodeBodySync(zlib.deflateRawSync(words), 'Deflate').bytes, Buffer.from(words), 'raw deflate');
  const framedByChance = zlib.deflateRawSync(Buffer.from('x'), { level: 0 });
  same(decodeBodySync(framedByChance, 'deflate').bytes, Buffer.from('x'), 'stored raw deflate');
});

test('a coding that is cut gives what it had delivered, whichever it is', () => {
  const text = Buffer.from(Array.from({ length: 60_000 }, (_, i) => ((i * 2654435761) >>> 0).toString(36)).join(' '));
  const coded: [string, Buffer][] = [
    ['gzip', zlib.gzipSync(text)],
    ['deflate', zlib.deflateSync(text)],
    ['deflate', zlib.deflateRawSync(text)],
    ['br', zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } })],
    ['zstd', zstdStored(text)],
  ];
  for (const [coding, bytes] of coded) {
    const cut = decodeBodySync(bytes.subarray(0, Math.floor(bytes.length * 0.75)), coding);
    assert.ok(cut.salvaged && cut.bytes.length > 0, coding);
    same(cut.bytes, text.subarray(0, cut.bytes.length), coding);
  }
});

test('the cap counts before salvage, and for each layer apart', async () => {
  const bytes = zlib.gzipSync(Buffer.alloc(100_000, 97));
  assert.is(decodeBodySync(bytes, 'gzip', 100_000).bytes.length, 100_000);
  assert.is((await refusal(decodeBody(bytes, 'gzip', 99_999))).kind, 'oversize');
  assert.is((await refusal(decodeBody(bytes.subarray(0, -8), 'gzip', 99_999))).kind, 'oversize');
  const inner = zlib.gzipSync(bytes);
  assert.is((await refusal(decodeBody(inner, 'gzip, gzip', 1000))).kind, 'oversize');
  assert.is((await refusal(decodeBody(zstdStored(Buffer.alloc(2000)), 'zstd', 1999))).kind, 'oversize');
  assert.is(decodeBodySync(zstdStored(Buffer.alloc(2000)), 'zstd', 2000).bytes.length, 2000);
  assert.is((await refusal(decodeBody(zlib.brotliCompressSync(Buffer.alloc(9000)), 'br', 8999))).kind, 'oversize');
});

test('all codings are checked before any is undone, and stacks are bounded', async () => {
  const error = await refusal(decodeBody(Buffer.from('plain'), 'compress, gzip'));
  assert.is(error.kind, 'unsupported');
  assert.match(error.message, "'compress' of 'compress, gzip'");
  assert.is((await refusal(decodeBody(zlib.gzipSync('x'), 'gzip,'.repeat(9)))).kind, 'unsupported');
});

test('an error names no byte of the body', async () => {
  const error = await refusal(decodeBody(Buffer.from('my secret prompt'), 'gzip'));
  assert.not.match(error.message, 'secret');
});

const rows = Array.from(
  { length: 120 },
  (_, i) => `{"row":${i},"name":"item ${(i * 7) % 13}","ok":${i % 3 !== 0}}\n`,
).join('');
const long = Array.from({ length: 20_000 }, (_, i) => `line ${i % 89} of many; `).join('');

/** What zstd 1.5 made of the two texts. */
const real: [name: string, plaintext: string, frame: string][] = [
  [
    'rows, with checksum and content size',
    rows,
    [
      'KLUv/WSlEAUMAHZTLxmAS1oMeD2tgZtLKwNzjlZ2d29SOdBEkzoBLwAnACcAeir+RjX+968pnYV7xrQ2jkUjB0QSxmFAOMWgKIJC',
      'AUTSKJRTEsQgUQR0ykOxKJB2deY+urWjloZ2ZlZmbCPb0srCOrMqVab2otrVpEE8U8zUGzNkat/70q6qnlTUU9NSoyvppmYm5qVl',
      '5TF5Ui4qJiIeGp5CgyPhnl4e3l37+vn49/b15s9Pv7TSSSN9tNFFH0NPE72rm4t7a1trAoCWqDFMdNv/DTAraoEbEphBIEHAxxIM',
      'IgUrBPsHR86TdS4mW/K0y+Xi/0n4pcgJ2HfwTrG4gPmH7RuFkwDfUNhJf0to/1g9Ow+ohCrwroANUJYUvFKBRmB9ETqgSCrAeZP2',
      '1dyUxdI2ZbMEupVLnQJH4eUF2gVXUUN++EZA8+vSxEbUQLJuf2IUoyPS69M7tVyNzPV0ZEa++xrveAAaT/fVoBpiBOQe5ExEzV5j',
      'EYaoPzMZThA3+OAwCxZWFAF0FV9oIvw=',
    ].join(''),
  ],
  [
    'rows, with neither',
    rows,
    [
      'KLUv/QBYNQ4AplAqGoA5xQYY+o1usMjLBTMA1zJF9qb9QuFMTdUDLwAeAB8AJDWSRZ7Mq72GXA4Co3EEWEgcFCAEDgfB4jAcEqBI',
      'NAaOw5FQIAwOgxyOhAXjUAg+shZRPUQSunu1Vqnt9Kz0Q8+NjdXQdGZGpr/nbGT1mBb/fHd2dXS9OZ7czXZmVka1MZrY6ytzUVWm',
      'WFL1vGlF6j/20U4oQhMKSyj8/bu9Tu/nvPy2z+YyOYDiqFFd3f53UDMyMh0SGIOBEIKKlUOChzmKPz/TtEXlD9nuCL6wAP9ScZnl',
      'TzjuFYCwAPjEIBQAr1OkjgXs8oMMkOZ6mCx7l1+6zXsKpIYCtlOMoDHg12/S9ZjkvpSLr83ehHtsnIZuC/P9iOSlsiLJuwFQ5YzF',
      '958FtLoE2WZAoVLe7LCmAVtf0ZSwEXuJ6IkADPodmU/omVzoog19NUBy1CqYr59My82kdQg5YgvMEBfU80f/rNOS5jAV9UbGsl6G',
      'ig2xk5i5m1lWrB6E2WiN67PoeqVh3IHdM8gZ1NH16OkVAPY63/o94x/uaOO70DktO6JDDb7LdSmPGHLt37gDUoPie9MNWOXsvzyE',
      'qyAm183H1YvkIhOrAg==',
    ].join(''),
  ],
  [
    'several blocks',
    long,
    [
      'KLUv/QRYZAQAQocTFMAlHS9o29Jl+QcbIFKmlFLif504RNFdrqqqqqqIiIiIiP7//3/btm27bdu2JUmSJLdt27aZmZmZIYruckOK',
      'YhwEUCiBAREQyECKYhwBY6gx+P3fwKPKNRL4xezd//8/A3n54iVyj8cxza+guCqqWsaW31oWV1LFlKDoJCaektSkZ82m7DKRVgVM',
      'AAAIOwEA/P85EAJNAAAIZQEAUic5EAIUf7yZ',
    ].join(''),
  ],
];

for (const [name, plaintext, base64] of real) {
  const frame = Buffer.from(base64, 'base64');
  const twice = Buffer.from(plaintext + plaintext);
  test(`zstd as an encoder writes it: ${name}`, () => {
    const one = decodeBodySync(frame, 'zstd');
    assert.is(one.salvaged, false);
    same(one.bytes, Buffer.from(plaintext), name);
    const empty = zstdStored(Buffer.alloc(0));
    const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    const many = decodeBodySync(Buffer.concat([empty, frame, skippable, empty, frame, skippable]), 'zstd');
    assert.is(many.salvaged, false);
    same(many.bytes, twice, 'frames in a row');
  });
  test(`zstd cut anywhere is salvaged or refused, and never wrong: ${name}`, () => {
    const bytes = Buffer.concat([frame, frame]);
    for (let length = 1; length < bytes.length; length++) {
      if (length === frame.length) continue; // whole
      try {
        const { bytes: got, salvaged } = decodeBodySync(bytes.subarray(0, length), 'zstd');
        assert.ok(salvaged && got.length > 0, `cut at ${length}`);
        same(got, twice.subarray(0, got.length), `cut at ${length}`);
      } catch (error) {
        assert.instance(error, Undecodable);
        assert.ok(length < frame.length, `nothing salvaged at ${length}`);
      }
    }
  });
}

const head = (window: number) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window]);

test('hostile zstd is refused quickly', async () => {
  const hostile: [string, Buffer, Undecodable['kind']][] = [
    ['many tiny blocks in a large window', tinyBlocks(0x78, 400_000), 'undecodable'],
    ['a declared size over the cap', Buffer.from('28b52ffda0ffffff7f0100', 'hex'), 'oversize'],
    [
      'a block larger than any may be',
      Buffer.concat([head(0x68), blockHeader(200_000, 1, true), Buffer.from('x')]),
      'undecodable',
    ],
    ['a dictionary', Buffer.from('28b52ffd2107050100', 'hex'), 'undecodable'],
    ['a reserved block type', Buffer.concat([head(0x68), blockHeader(0, 3, true)]), 'undecodable'],
    [
      'something behind the frame',
      Buffer.concat([zstdStored(Buffer.from('hello')), Buffer.from('what is this')]),
      'undecodable',
    ],
    ['a bomb of repeated bytes', repeats(1000), 'oversize'],
  ];
  for (const [name, bytes, kind] of hostile) assert.is((await refusal(decodeBody(bytes, 'zstd'))).kind, kind, name);
});

function tinyBlocks(window: number, count: number): Buffer {
  const block = Buffer.concat([blockHeader(1, 0, false), Buffer.from('a')]);
  return Buffer.concat([head(window), Buffer.alloc(block.length * count, block), blockHeader(0, 0, true)]);
}

function repeats(blocks: number): Buffer {
  const block = Buffer.concat([blockHeader(131_072, 1, false), Buffer.from('a')]);
  return Buffer.concat([head(0x68), Buffer.alloc(block.length * blocks, block), blockHeader(0, 0, true)]);
}

test('a whole stack round-trips, whatever the bytes, blocks and layers', () => {
  const coders: Record<string, (bytes: Uint8Array) => Buffer> = {
    gzip: (bytes) => zlib.gzipSync(bytes),
    br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
    deflate: (bytes) => zlib.deflateSync(bytes),
    zstd: (bytes) => zstdStored(bytes, { blockBytes: 7 }),
    identity: (bytes) => Buffer.from(bytes),
  };
  const stacks = fc.array(fc.constantFrom(...Object.keys(coders)), { maxLength: 4 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), stacks, (bytes, stack) => {
      const coded = stack.reduce<Uint8Array>(
        (body, coding) => (coders[coding] as (b: Uint8Array) => Buffer)(body),
        bytes,
      );
      const decoded = decodeBodySync(coded, stack.join(', '));
      same(decoded.bytes, bytes, stack.join());
      assert.is(decoded.salvaged, false);
    }),
  );
});

test('arbitrary bytes under any coding give bytes or Undecodable', () => {
  const magic = fc.constantFrom(
    Buffer.alloc(0),
    head(0x20),
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
    Buffer.from([0x1f, 0x8b, 8, 0]),
  );
  fc.assert(
    fc.property(
      magic,
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom('gzip', 'zstd', 'br', 'deflate'),
      (start, rest, coding) => {
        try {
          decodeBodySync(Buffer.concat([start, rest]), coding, 1_000_000);
        } catch (error) {
          assert.instance(error, Undecodable);
        }
      },
    ),
    { numRuns: 400 },
  );
});

test.run();
