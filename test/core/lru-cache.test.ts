/** What the cache of the entries used last keeps, and what goes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lruCache } from '../../core/lru-cache.ts';

const test = suite('entries used last');

test('of more entries than it may hold, the one not used for longest goes', () => {
  const cache = lruCache<string, number>(3);
  for (const [n, key] of ['a', 'b', 'c'].entries()) cache.set(key, n);
  assert.is(cache.get('a'), 0);
  cache.set('d', 3);
  assert.equal([...cache.keys()].sort(), ['a', 'c', 'd']);
});

test('an entry that is set again is one entry', () => {
  const cache = lruCache<string, number>(2);
  for (let n = 0; n < 10; n++) cache.set('a', n);
  cache.set('b', 10);
  assert.equal([cache.get('a'), cache.get('b'), cache.size], [9, 10, 2]);
});

test('memory is taken as it fills, so that many large ones may stand beside one another', () => {
  const before = process.memoryUsage().heapUsed;
  const caches = Array.from({ length: 100 }, () => lruCache<string, true>(100_000)); // 240 MB, were they filled at once
  assert.ok(process.memoryUsage().heapUsed - before < 24 * 1024 * 1024);
  assert.is(caches.length, 100);
});

test.run();
