import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fused } from '../../../cassettes/search/fuse.ts';

const words = (keys: string[], weight = 1) => keys.map((key) => ({ key, weight }));
const test = suite('reciprocal rank fusion');

test('what both rankings have comes before what one has higher', () => {
  const all = fused(words(['a', 'b', 'c']), ['d', 'b']);
  assert.equal(
    all.map(({ key }) => key),
    ['b', 'a', 'd', 'c'],
  );
  assert.equal(all[0], { key: 'b', score: 2 / 62, ranks: { text: 2, vector: 2 } });
  assert.equal(all[1], { key: 'a', score: 1 / 61, ranks: { text: 1 } });
});

test('of equal sums that of the text comes first, and an empty ranking changes nothing', () => {
  assert.equal(
    fused(words(['x']), ['y']).map(({ key }) => key),
    ['x', 'y'],
  );
  assert.equal(
    fused([], ['y', 'z']).map(({ key }) => key),
    ['y', 'z'],
  );
  assert.equal(fused([], []), []);
});

test('what has few of the words pushes aside nothing that is near, and helps what is', () => {
  const all = fused(
    words(['far', 'near-9'], 0.1),
    Array.from({ length: 12 }, (_, i) => `near-${i}`),
  );
  assert.is(all.at(-1)?.key, 'far');
  assert.ok(all.findIndex(({ key }) => key === 'near-9') < 9);
});

test.run();
