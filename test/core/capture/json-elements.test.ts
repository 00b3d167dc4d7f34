/** Elements are found where a parser finds them, and what is torn is told as such. */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { elementsOf } from '../../../core/capture/json-elements.ts';
import { Unreadable } from '../../../core/provider/format.ts';

const elements = (text: string, before = '', after = ''): string[] => {
  const body = Buffer.from(`${before}${text}${after}`);
  const start = Buffer.byteLength(before);
  const array = { start, end: start + Buffer.byteLength(text) };
  return [...elementsOf(body, array)].map((one) => body.toString('utf8', one.start, one.end));
};

const test = suite('elementsOf');

test('the elements of any array, in order, wherever it stands and however it is written', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2, '\t'), (values, space) => {
      const found = elements(JSON.stringify(values, null, space), '{"ä":', ',"b":[1]}');
      assert.equal(
        found.map((one) => JSON.parse(one)),
        JSON.parse(JSON.stringify(values)),
      );
    }),
  );
});

test('white space and commas are nobody’s', () => {
  assert.equal(elements('[ 1 ,\n"a,]" ,{"b":[2]}\t]'), ['1', '"a,]"', '{"b":[2]}']);
  assert.equal(elements('[ ]'), []);
});

test('nothing nests too deep to be found', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  assert.equal(elements(`[${deep},1]`), [deep, '1']);
});

test('what is no array, or torn, is unreadable; nothing is quoted', () => {
  for (const text of ['{}', '1', '', '[', '[1', '[1 2]', '[1,]', '[,1]', '["a]', '[1]]', '[[1]'])
    assert.throws(
      () => elements(text),
      (error: Error) => error instanceof Unreadable && error.message === 'Cannot read the body: it is not JSON',
      text,
    );
});

test.run();
