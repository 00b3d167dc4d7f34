import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertShallow,
  fields,
  limit,
  parsed,
  parseForeign,
  text,
  tokens,
  toolInput,
} from '../../../core/provider/json.ts';

const test = suite('json');

test('a count of tokens is a whole number that a call can have', () => {
  for (const value of [0, 1, 200_000]) assert.is(tokens(value), value);
  for (const value of [-1, 1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, {}, true]) {
    assert.is(tokens(value), null);
  }
});

test('a limit fits an integer column', () => {
  assert.is(limit(2 ** 31 - 1), 2 ** 31 - 1);
  for (const value of [2 ** 31, -1, 0.5, '1', null]) assert.is(limit(value), null);
});

test('what is missing reads as nothing', () => {
  for (const value of [null, undefined, 1, 'a', [1]]) assert.equal(fields(value), {});
  for (const value of [null, undefined, 1, {}, []]) assert.is(text(value), '');
});

test("a tool's input, also where it is no JSON", () => {
  assert.equal(toolInput('{"a":1}'), { a: 1 });
  assert.equal(toolInput(' '), {});
  assert.equal(toolInput('{"a":'), { _unparsed: '{"a":' });
  assert.is(toolInput('null'), null);
});

test('what is nested too deep is not read', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  assert.is(Array.isArray(parsed(nested(512))), true);
  assert.is(parsed(nested(513)), undefined);
  assert.is(parsed(nested(200_000)), undefined);
  assert.throws(() => assertShallow(JSON.parse(nested(100_000)), 'it'), /Cannot read it/);
});

test('brackets are counted before they are parsed, those in strings apart', () => {
  const before = process.resourceUsage().maxRSS;
  assert.throws(() => parseForeign('['.repeat(14_000_000)), /nested too deep/);
  const grownMb = (process.resourceUsage().maxRSS - before) / 1024;
  assert.ok(grownMb < 200, `${grownMb} MB for 14 MB of brackets`); // the parser alone takes 700
  const strings = JSON.stringify({ '[[\\"': '['.repeat(200_000), '\\': ['\\\\"[', '"'], a: '\\"'.repeat(1_000) });
  assert.equal(parseForeign(strings), JSON.parse(strings));
  assert.equal(parsed(strings), JSON.parse(strings));
  assert.throws(() => parseForeign('{"a": "'), SyntaxError);
});

test.run();
