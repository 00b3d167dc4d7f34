/** The shape of a session: at most 32 numbers, each the largest of equally many calls. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noShape, shapeWith } from '../../../core/derive/shape.ts';

const test = suite('the shape of a session');

const shapeOf = (values: readonly number[]): number[] => values.reduce(shapeWith, noShape).bins;

test('as many numbers as calls, until there are more than 32', () => {
  assert.equal(shapeOf([]), []);
  assert.equal(shapeOf([3, 1, 2]), [3, 1, 2]);
  const many = Array.from({ length: 33 }, (_, i) => i);
  assert.equal(shapeOf(many.slice(0, 32)), many.slice(0, 32));
  assert.equal(shapeOf(many), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 32]);
});

test('each number is the largest of equally many calls in order', async () => {
  await fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 700 }), (values) => {
      const shape = shapeOf(values);
      assert.ok(shape.length <= 32);
      let each = 1;
      while (Math.ceil(values.length / each) > 32) each *= 2;
      const bins = Array.from({ length: Math.ceil(values.length / each) }, (_, i) =>
        Math.max(...values.slice(i * each, (i + 1) * each)),
      );
      assert.equal(shape, bins);
    }),
  );
});

test.run();
