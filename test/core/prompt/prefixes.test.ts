import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CacheMark, openPrefixes } from '../../../core/prompt/prefixes.ts';

const test = suite('prefixes');

const Ids = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 8 });

test('the longest common beginning, the newest call with it, and the marks along it, as a comparison with each call finds them', () => {
  fc.assert(
    fc.property(fc.array(Ids, { maxLength: 12 }), Ids, fc.nat(8), (earlier, ids, length) => {
      const prefixes = openPrefixes<number>();
      const expectedMarks = new Map<string, CacheMark>();
      earlier.forEach((one, n) => {
        const marks: CacheMark[] = one.length > 0 ? [{ block: one.length - 1, ttl: '5m', written: n % 2 === 0 }] : [];
        prefixes.add(one, n, marks);
        const key = one.join();
        for (const mark of marks) if (mark.written || !expectedMarks.has(key)) expectedMarks.set(key, mark);
      });
      const common = (one: readonly number[]) => {
        const differs = one.findIndex((id, i) => id !== ids[i]);
        return differs === -1 ? one.length : differs;
      };
      const most = Math.max(-1, ...earlier.map(common));
      const best = earlier.findLastIndex((one) => common(one) === most);
      assert.equal(prefixes.longest(ids), best === -1 ? null : { common: most, call: best });
      const start = ids.slice(0, length);
      if (start.length === length) {
        const newest = earlier.findLastIndex((one) => start.every((id, i) => id === one[i]));
        assert.is(prefixes.newest(ids, length), newest === -1 ? null : newest);
        assert.equal(
          prefixes.marks(ids, length),
          start.flatMap((_, i) => expectedMarks.get(start.slice(0, i + 1).join()) ?? []),
        );
      }
    }),
    { numRuns: 2_000 },
  );
});

test.run();
