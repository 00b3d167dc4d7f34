import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lineAndColumn, NoJson, placedJson } from '../../../../core/cassette/list/json-places.ts';

const test = suite('placedJson');

test('a value stands where its text is, with its name before it', () => {
  const text = '\uFEFF{\n  "a": [1, {"b \\u00e9": "x"}],\n  "c": null }';
  const { value, place } = placedJson(text);
  assert.equal(value, { a: [1, { 'b é': 'x' }], c: null });
  const at = (path: (string | number)[]) => {
    const { start, end } = place(path) ?? { start: 0, end: 0 };
    return text.slice(start, end);
  };
  assert.is(at(['a']), '[1, {"b \\u00e9": "x"}]');
  assert.is(at(['a', 1, 'b é']), '"x"');
  assert.is(at(['c']), 'null');
  assert.is(text.indexOf('"c"'), place(['c'])?.key);
  assert.is(place(['a', 2]), undefined);
});

test('what is no JSON is refused where that shows', () => {
  const cases: [string, number, RegExp][] = [
    ['', 0, /value must stand here, where the text ends/],
    ['{"a": 1,}', 8, /take the "," before it away/],
    ['[1, 2', 5, /"," or a "]" must stand here, where the text ends/],
    ['{"a" 1}', 5, /":" must stand behind the name "a"/],
    ['{// no\n}', 1, /no comments in JSON/],
    ["{'a': 1}", 1, /double quotes/],
    ['{"a": 01}', 6, /value must stand/],
    ['["a\nb"]', 1, /ends on the line where it begins/],
    ['{} {}', 3, /must end here/],
    ['{"a": tru}', 6, /value must stand/],
    [`${'['.repeat(200)}`, 101, /nests too deeply/],
  ];
  for (const [text, offset, why] of cases) {
    try {
      placedJson(text);
      assert.unreachable(text);
    } catch (error) {
      if (!(error instanceof NoJson)) throw error;
      assert.match(error.message, why, text);
      assert.is(error.offset, offset, text);
    }
  }
});

test('it takes what JSON.parse takes, and nothing else', () => {
  const texts = [
    '0',
    '-1.5e+3',
    '"\\ud83d\\ude00"',
    'true',
    ' [ ] ',
    '{"__proto__": 1}',
    '{"a":{"a":{}}}',
    '"\t"',
    '1.',
    '+1',
    '.5',
    'nul',
    '"\\x"',
  ];
  for (const text of texts) {
    const parse = () => {
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return null;
      }
    };
    const placed = () => {
      try {
        return { value: placedJson(text).value };
      } catch {
        return null;
      }
    };
    assert.equal(placed(), parse(), text);
  }
});

test('a name that stands twice in one object is told', () => {
  assert.equal(placedJson('{"a": {"b": 1}, "b": 2, "a": 3}').repeated, [{ name: 'a', offset: 24 }]);
});

test('lines and columns count from 1', () => {
  assert.equal(lineAndColumn('ab\ncd', 0), { line: 1, column: 1 });
  assert.equal(lineAndColumn('ab\ncd', 4), { line: 2, column: 2 });
});

test.run();
