/** Every key is read as it is written, on every Node: V8's own reader takes some escaped keys for others. (nodejs/node#63785) */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as inCore from '../../core/parse-json.ts';

const child = new URL('../../core/cassette/isolation/child/parse-json.mjs', import.meta.url);
const inCassettes = (await import(child.href)) as typeof inCore;

/** What makes V8 misread what comes after it. */
const poison = () => {
  for (const text of ['{"h":[],"\\\\":0}', '{"h":[],"\\\\\\\\":0}', '[{"h":1,"\\\\n":2}]']) JSON.parse(text);
};

const escaped = (text: string) =>
  `"${[...Array(text.length)].map((_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;

for (const [where, { holdsEscapedKey, parseByKey, parseJson }] of Object.entries({ inCore, inCassettes })) {
  const test = suite(`parse json (${where})`);

  test('an escaped key of one character is that character, whatever was read before', () => {
    for (const [written, key] of [
      ['\\n', '\n'],
      ['\\"', '"'],
      ['\\u0041', 'A'],
      ['\\\\', '\\'],
      ['\\\\\\"', '\\"'],
    ] as const) {
      poison();
      assert.equal(Object.keys(parseJson(`{"h":1,"${written}":2}`) as object), ['h', key]);
      assert.equal(parseJson(`[{"h":1,"${written}":2},{"h":[],"${written}" : {"${written}":3}}]`), [
        { h: 1, [key]: 2 },
        { h: [], [key]: { [key]: 3 } },
      ]);
    }
  });

  test('a text whose keys hold an escape is told from one whose texts do', () => {
    for (const text of ['{"\\n":1}', '{"a\\"" : 1}', '{"a":"b","\\\\"\n:1}', '[{"a":{"\\u0041":1}}]'])
      assert.is(holdsEscapedKey(text), true, text);
    for (const text of [
      '{"a":"\\n"}',
      '{"a":"\\": 1"}',
      '{"a":"{\\"b\\": 1}"}',
      '["\\\\",":"]',
      '["\\"",":a"]',
      '{"a":"\\\\","b":1}',
      '{"a":"x\\": y","b" : "\\""}',
      '"\\n"',
    ])
      assert.is(holdsEscapedKey(text), false, text);
  });

  const key = fc.oneof(
    fc.constantFrom('h', 'a', '\n', '"', '\\', '\\\\', '\\n', '\n\n', '__proto__', '0', '', '\u0000', '\ud800'),
    fc.string({ unit: 'binary', maxLength: 4 }),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true, false, -0, 1e21, '"', '\\": 1', ':'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
    ),
  }));

  /** As JSON.stringify writes it, but keys spelt by their codes where `spelt` says so. */
  const written = (held: unknown, spelt: boolean): string => {
    if (typeof held !== 'object' || held === null) return Object.is(held, -0) ? '-0' : JSON.stringify(held);
    if (Array.isArray(held)) return `[${held.map((one) => written(one, spelt)).join(' ,')}]`;
    const members = Object.entries(held).map(
      ([name, one]) => `${spelt ? escaped(name) : JSON.stringify(name)}\n:\t${written(one, spelt)}`,
    );
    return ` {${members.join(',')} }`;
  };

  test('whatever is written is read', () => {
    fc.assert(
      fc.property(value, fc.boolean(), (held, spelt) => {
        const text = written(held, spelt);
        poison();
        for (const read of [parseJson, parseByKey]) {
          const found = read(text);
          assert.is(written(found, false), written(held, false));
          if (typeof found === 'object' && found !== null)
            assert.is(Object.getPrototypeOf(found), Array.isArray(found) ? Array.prototype : Object.prototype);
        }
      }),
      { numRuns: 3000 },
    );
  });

  test('of a key that stands twice the last value counts, in the place of the first', () => {
    assert.is(JSON.stringify(parseByKey('{"\\u0061":1,"b":2,"a":3}')), '{"a":3,"b":2}');
  });

  test('what is no JSON is refused in the words of JSON.parse', () => {
    for (const text of ['', '{', '{"\\n"', '{"\\x":1}', '{"\\n":1,}', '[1 2]', '{"\\n":01}', '{"\\n":1}}', '{\\n:1}']) {
      let words = '';
      try {
        JSON.parse(text);
      } catch (error) {
        words = (error as Error).message;
      }
      assert.throws(
        () => parseByKey(text),
        (error: Error) => error instanceof SyntaxError && error.message === words,
      );
      assert.throws(() => parseJson(text), SyntaxError);
    }
  });

  test('nesting is bounded by memory alone', () => {
    const depth = 200_000;
    let inner = parseByKey(`${'{"\\n":['.repeat(depth)}1${']}'.repeat(depth)}`);
    for (let i = 0; i < depth; i++) inner = (inner as Record<string, unknown[]>)['\n']?.[0];
    assert.is(inner, 1);
  });

  test('time grows with the text, not with its square', () => {
    const million = 1_000_000;
    const texts = [
      `{"${'\\\\'.repeat(million)}":1}`,
      `["${'\\":'.repeat(million)}"]`,
      `[${'":",'.repeat(million)}1]`,
      `["${': '.repeat(million)}\\n"]`,
    ];
    for (const text of texts) {
      const started = performance.now();
      holdsEscapedKey(text);
      parseByKey(text);
      assert.ok(performance.now() - started < 5_000, text.slice(0, 10));
    }
  });

  test.run();
}
