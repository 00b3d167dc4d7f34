import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonLines } from '../../../core/provider/ndjson.ts';
import { bodyText } from '../../../core/provider/sse.ts';
import { utf8 } from '../../support/provider-streams.ts';

const test = suite('ndjson');

test('LF and CRLF end a line, and blank lines are left out', () => {
  const expected = [{ json: { a: 1 } }, { json: { b: '\n' } }];
  for (const end of ['\n', '\r\n', '\n\n', '\r\n \t\r\n']) {
    assert.equal(jsonLines(`{"a":1}${end}{"b":"\\n"}${end}`), expected, JSON.stringify(end));
    assert.equal(jsonLines(`${end}{"a":1}${end}{"b":"\\n"}`), expected, `${JSON.stringify(end)}, none at the end`);
  }
  assert.equal(jsonLines(''), []);
});

test('only the last line can be cut', () => {
  assert.equal(jsonLines('{"a":1}\n{"b":'), [{ json: { a: 1 } }, 'cut']);
  assert.equal(jsonLines('{"a":1}\n{"b":\n'), [{ json: { a: 1 } }, 'unreadable'], 'its LF came');
  assert.equal(jsonLines('{"b":\n{"a":1}'), ['unreadable', { json: { a: 1 } }]);
});

test('what is no object is unreadable', () => {
  const deep = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  for (const line of ['[1]', '7', 'null', '"a"', '<html>', 'data: {}', deep]) {
    assert.equal(jsonLines(`${line}\n`), ['unreadable'], line.slice(0, 9));
    assert.equal(jsonLines(line), ['unreadable'], line.slice(0, 9));
  }
});

test('a stream cut anywhere holds the first of its lines', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 });
  fc.assert(
    fc.property(fc.array(object, { maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\n\n'), (objects, end) => {
      const bytes = utf8(objects.map((value) => `${JSON.stringify(value)}${end}`).join(''));
      const all = jsonLines(bodyText(bytes));
      for (let length = 0; length <= bytes.length; length++) {
        const some = jsonLines(bodyText(bytes.subarray(0, length)));
        const whole = some.at(-1) === 'cut' ? some.slice(0, -1) : some;
        assert.equal(whole, all.slice(0, whole.length), `cut at ${length}`);
      }
    }),
    { numRuns: 25 },
  );
});

test('long and odd streams are read in one pass', () => {
  for (const piece of ['\r', '\n', '\r\n', '{', '{\n', '{}\n', ' ', 'x'])
    jsonLines(piece.repeat(2_000_000 / piece.length));
});

test.run();
