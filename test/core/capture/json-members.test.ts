/** The ranges are the members' own bytes, whatever stands in them; a reader of the whole body finds the same members. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { membersOf } from '../../../core/capture/json-members.ts';
import { parseJson } from '../../../core/parse-json.ts';

const bytes = (text: string) => Buffer.from(text);

/** The members as text; null: no JSON object. */
const membersIn = (text: string): [string, string][] | null => {
  const body = bytes(text);
  const members = membersOf(body);
  return members && [...members].map(([key, { start, end }]) => [key, body.subarray(start, end).toString()]);
};

const test = suite('json members');

test('a value keeps its own white space and loses what stands around it', () => {
  assert.equal(membersIn(' {"a" : [ 1 ,{"b": "]}"} ] ,\n"c":-1.5e3,"d": "x\\"y" , "é":null\t} \r\n'), [
    ['a', '[ 1 ,{"b": "]}"} ]'],
    ['c', '-1.5e3'],
    ['d', '"x\\"y"'],
    ['é', 'null'],
  ]);
  assert.equal(membersIn('\uFEFF{"a":1}'), [['a', '1']], 'a byte order mark is read over');
  assert.equal(membersIn('{ }'), []);
});

test('a key that is spelt with escapes is the same key', () => {
  assert.equal(membersIn('{"requ\\u0065st":1,"\\ud800":2}'), [
    ['request', '1'],
    ['\ud800', '2'],
  ]);
});

test('of a key that stands twice the last value counts', () => {
  assert.equal(membersIn('{"a":1,"b":2,"\\u0061":3}'), [
    ['a', '3'],
    ['b', '2'],
  ]);
});

test('a key may have any name', () => {
  assert.equal(membersIn('{"__proto__":{"a":1},"constructor":2,"":3}'), [
    ['__proto__', '{"a":1}'],
    ['constructor', '2'],
    ['', '3'],
  ]);
});

test('of more members than wanted the first ones are read, whatever follows', () => {
  const read = (text: string) => [...(membersOf(Buffer.from(text), 2) ?? []).keys()];
  assert.equal(read('{"a":1,"b":2,"c":3}'), ['a', 'b']);
  assert.equal(read('{"a":1,"a":2,"c":3}'), ['a']);
  assert.equal(read('{"a":1,"b":2,torn'), ['a', 'b']);
  assert.equal(read('{"a":1,"b":2}'), ['a', 'b']);
  assert.equal(read('{"a":1 "b":2}'), []);
});

test('what is no JSON object has no members', () => {
  for (const text of [
    '',
    ' ',
    'null',
    '"{}"',
    '[{"a":1}]',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1 "b":2}',
    '{"a" 1}',
    '{a:1}',
    '{"a":[1}',
    '{"a":"}',
    '{"\\x":1}',
    '{"a":1}x',
    '{}{}',
  ]) {
    assert.is(membersIn(text), null, text);
  }
});

test('values are nested as deep as they are', () => {
  for (const depth of [10_000, 100_000, 1_000_000]) {
    const deep = '[{"a":'.repeat(depth / 2);
    const text = `{"a":${deep}"]"${'}]'.repeat(depth / 2)},"b":1}`;
    const members = membersOf(bytes(text));
    assert.equal(members?.get('a'), { start: 5, end: text.length - 7 });
    assert.equal(members?.get('b'), { start: text.length - 2, end: text.length - 1 });
  }
});

const value = fc.jsonValue({ maxDepth: 5 });
const key = fc.oneof(
  fc.constantFrom('request', '__proto__', '\u0000', '\ud800', '"', '\\'),
  fc.string({ unit: 'binary' }),
);
const space = fc.constantFrom('', ' ', '\n', ' \t\r\n');
const escaped = (text: string) =>
  `"${[...Array(text.length)].map((_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
const object = fc
  .tuple(fc.array(fc.tuple(key, value, space, fc.boolean(), fc.constantFrom(undefined, 1))), space)
  .map(([members, gap]) => {
    const texts = members.map(
      ([name, held, around, spelt, indent]) =>
        `${around}${spelt ? escaped(name) : JSON.stringify(name)}${around}:${around}${JSON.stringify(held, null, indent)}${around}`,
    );
    return `${gap}{${texts.join(',')}${texts.length === 0 ? gap : ''}}${gap}`;
  });

test('the members are those that a reader of the whole finds, and their bytes are the members', () => {
  fc.assert(
    fc.property(object, (text) => {
      const whole = parseJson(text) as Record<string, unknown>;
      const members = new Map(membersIn(text));
      assert.equal([...members.keys()].sort(), Object.keys(whole).sort());
      for (const [name, held] of members)
        assert.equal(parseJson(held), Object.entries(whole).find(([k]) => k === name)?.[1]);
    }),
    { numRuns: 2000 },
  );
});

test('for every value that is no object there are no members', () => {
  fc.assert(
    fc.property(value, (held) => {
      const isObject = typeof held === 'object' && held !== null && !Array.isArray(held);
      assert.is(membersIn(JSON.stringify(held)) !== null, isObject);
    }),
    { numRuns: 500 },
  );
});

test('any bytes get an answer', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...'{}[]":,\\ a1', '\u0000', 'é')), (characters) => {
      const text = `{${characters.join('')}`;
      const members = membersOf(bytes(text));
      for (const { start, end } of members?.values() ?? []) assert.ok(start < end && end < text.length * 2);
      let isObject = true;
      try {
        JSON.parse(text);
      } catch {
        isObject = false;
      }
      if (isObject) assert.ok(members, 'whatever JSON.parse reads has members');
    }),
    { numRuns: 5000 },
  );
});

test.run();
