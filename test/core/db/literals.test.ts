import { sql as statement } from 'drizzle-orm';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compiled } from '../../../core/db/client/wire-text.ts';
import { bytesArray, hexArray, jsonText, pgArray } from '../../../core/db/literals.ts';
import { databaseSuite } from '../../support/databases.ts';

databaseSuite('literals', (test, database) => {
  const one = async (text: string, ...params: unknown[]) =>
    (await database().sql(`select ${text} as it`, params))[0]?.it;

  test('types are the same on both databases', async () => {
    const expected: [string, unknown][] = [
      ['12::smallint', 12],
      ['9007199254740991::bigint', 9007199254740991],
      ['(select count(*) from generate_series(1, 3))', 3],
      ['1.50::numeric', '1.50'],
      ['1.5::double precision', 1.5],
      ['true', true],
      ["'\\x00ff'::bytea", new Uint8Array([0, 255])],
      [`'{"a": [1, null]}'::jsonb`, { a: [1, null] }],
      ["'null'::jsonb", null],
      ["array['a', null, 'NULL', '', 'x,y', '{', '\"', '\\']", ['a', null, 'NULL', '', 'x,y', '{', '"', '\\']],
      ["'{}'::text[]", []],
      [
        'array[array[1, 2], array[3, 4]]',
        [
          [1, 2],
          [3, 4],
        ],
      ],
      ['array[1.50]', ['1.50']],
      ["array['\\x00'::bytea]", [new Uint8Array([0])]],
      ['array[\'{"a": "b"}\'::jsonb]', [{ a: 'b' }]],
      ["array['00000000-0000-0000-0000-000000000001'::uuid]", ['00000000-0000-0000-0000-000000000001']],
      ["'2026-11-21'::date", '2026-11-21'],
      ["timestamp '2026-11-21 09:30:00.123456'", '2026-11-21 09:30:00.123456'],
      ['null::text', null],
    ];
    for (const [text, value] of expected) assert.equal(await one(text), value, text);
    const bytes = (await one("'\\x0102'::bytea")) as Uint8Array;
    assert.is(Object.getPrototypeOf(bytes), Uint8Array.prototype);
    assert.is(bytes.buffer.byteLength, 2);
  });

  test('parameters take the type of their place', async () => {
    assert.is(await one('$1 + 1', 4), 5);
    assert.is(await one('$1::boolean', true), true);
    assert.is(await one('$1::text', 'ü"\\\n'), 'ü"\\\n');
    assert.equal(await one('$1::bytea', new Uint8Array([1, 2, 255])), new Uint8Array([1, 2, 255]));
    assert.equal(await one('$1::jsonb', jsonText({ a: 'x' })), { a: 'x' });
    assert.is(await one('$1::timestamptz = $2::timestamptz', new Date(0), '1970-01-01T00:00:00Z'), true);
    assert.is(await one('$1::text', null), null);
  });

  test('texts come back from array literals as they were, but for NUL and lone surrogates', async () => {
    const text = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const kept = texts.map((each) => each?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null);
        assert.equal(await one('$1::text[]', pgArray(texts)), kept);
      }),
      { numRuns: 60 },
    );
  });

  test('bytes come back from array literals', async () => {
    const bytes = fc.option(fc.uint8Array({ maxLength: 40 }));
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { maxLength: 8 }), async (values) => {
        assert.equal(await one('$1::bytea[]', bytesArray(values)), values);
      }),
      { numRuns: 40 },
    );
    assert.equal(await one('$1::bytea[]', hexArray(['00ff', null, ''])), [
      new Uint8Array([0, 255]),
      null,
      new Uint8Array(),
    ]);
  });

  test('JSON comes back from jsonb as it was, but for NUL and lone surrogates', async () => {
    const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD');
    assert.equal(await one('$1::jsonb', jsonText({ a: '\0\uD800x', 'k\0': [true, 1.5, null] })), {
      a: '\uFFFD\uFFFDx',
      [storable('k\0')]: [true, 1.5, null],
    });
  });

  test('numbers and booleans pass through array literals', async () => {
    assert.equal(await one('$1::bigint[]', pgArray([1, null, -5])), [1, null, -5]);
    assert.equal(await one('$1::boolean[]', pgArray([true, false, null])), [true, false, null]);
  });
});

const test = suite('compiled');
test('refuses what has no text', () => {
  assert.throws(() => compiled(statement`select ${{ a: 1 }}`), /Cannot pass this parameter/);
});
test.run();
