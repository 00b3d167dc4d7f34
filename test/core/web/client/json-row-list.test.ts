/** Does a tree of JSON have the rows that are open, in order, however large or deep the value is? */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonRowList, Numeral } from '../../../../core/web/client/parts/json-row-list.ts';
import { jsonRuns } from '../../../../core/web/client/worker/json-tokens.ts';

const test = suite('jsonRowList');
const value = { messages: [{ role: 'user', 'a b': null }], empty: [], n: 1 };

test('paths are those that a program would write', () => {
  assert.equal(
    jsonRowList(value, () => true).map(({ path, depth, size }) => [path, depth, size]),
    [
      ['', 0, 3],
      ['messages', 1, 1],
      ['messages[0]', 2, 2],
      ['messages[0].role', 3, null],
      ['messages[0]["a b"]', 3, null],
      ['empty', 1, 0],
      ['n', 1, null],
    ],
  );
});

test('what is closed has one row', () => {
  assert.equal(
    jsonRowList(value, (path) => path === '').map(({ path, isOpen }) => [path, isOpen]),
    [
      ['', true],
      ['messages', false],
      ['empty', false],
      ['n', false],
    ],
  );
});

test('5,000 levels and a million parts are cut, not died of', () => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  assert.is(jsonRowList(deep, () => true).length, 201);
  const wide = jsonRowList(new Array(1_000_000).fill(0), () => true);
  assert.is(wide.length, 20_002);
  assert.equal([wide.at(-1)?.type, wide.at(-1)?.key], ['more', '980,000 more']);
});

test('formatted JSON is the same JSON; what is too deep or none is left alone', () => {
  const text = JSON.stringify({ ...value, text: 'a "quoted" \u2028 line' });
  assert.is(
    jsonRuns(text)
      ?.map((run) => run.text)
      .join(''),
    JSON.stringify(JSON.parse(text), null, 2),
  );
  assert.is(jsonRuns(`${'['.repeat(300)}${']'.repeat(300)}`), null);
  assert.is(jsonRuns('{'), null);
});

const formatted = (text: string) =>
  jsonRuns(text)
    ?.map((run) => run.text)
    .join('');

test('formatted JSON has the numbers, the doubled keys and the order that were recorded', () => {
  const text = '{"b":1234567890123456789,"2":1e400,"1":[1.0,-0,{}],"b":true,"\\u00e9\\"":null}';
  assert.is(
    formatted(text),
    `{
  "b": 1234567890123456789,
  "2": 1e400,
  "1": [
    1.0,
    -0,
    {}
  ],
  "b": true,
  "é\\"": null
}`,
  );
});

test('JSON that survives a parse is formatted as JSON.stringify does, whatever white space it has', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t', '\r\n '), (value, space) => {
      const expected = JSON.stringify(JSON.parse(JSON.stringify(value)), null, 2);
      assert.is(formatted(JSON.stringify(value, null, space)), expected);
    }),
  );
});

test('a number that is too long for a number has a row like one', () => {
  const [row] = jsonRowList(new Numeral('1234567890123456789'), () => true);
  assert.equal([row?.type, row?.size, String(row?.value)], ['number', null, '1234567890123456789']);
});

test.run();
